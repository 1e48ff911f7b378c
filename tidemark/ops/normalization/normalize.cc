#include "tidemark/ops/normalization/normalize.h"

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void require_type(const Call& call, int operand, const Type& type, std::string_view role) {
  const Type& given = call.in[static_cast<std::size_t>(operand)];
  if (given == type) return;
  fail(given.shape == type.shape ? ErrorCode::dtype_mismatch : ErrorCode::shape_mismatch,
       {.what = fmt::format("{}: the {} is {}", call.op->name, role, to_string(given)),
        .expected = fmt::format("{}, for x of type {}", to_string(type), to_string(call.in[0])),
        .where = call.where});
}

Type statistics_type(const Call& call, const NormForm& form) {
  return {statistics_dtype(call.in[0].dtype), form.statistics};
}
Type affine_type(const Call& call, const NormForm& form) { return {call.in[0].dtype, form.affine}; }

// Operands x[, mean], second that all gradient ops begin with; returns how many there are.
int require_statistics(const Call& call, const NormForm& form) {
  int at = 1;
  if (form.centered) require_type(call, at++, statistics_type(call, form), "mean");
  require_type(call, at++, statistics_type(call, form), form.variance ? "variance" : "rstd");
  return at;
}

// A call seen in the shared form, in the dtype that computes.
struct Wide {
  const NormForm& form;
  DType dtype;
  Shape statistics_shape() const {
    return form.across_batch ? Shape{1, form.g, 1, 1} : Shape{form.n, form.g, 1, 1};
  }
  Dims row_axes() const { return form.across_batch ? Dims{0, 3} : Dims{2, 3}; }
  Dims affine_axes() const { return form.per_element ? Dims{0, 1, 2} : Dims{0, 3}; }

  Var data(const Var& x) const { return reshape(cast(x, dtype), {form.n, form.g, form.k, form.s}); }
  Var statistics(const Var& v) const { return reshape(v, statistics_shape()); }
  Var affine(const Var& v) const {
    return reshape(cast(v, dtype), form.per_element ? Shape{1, 1, 1, form.s} : Shape{1, form.g, form.k, 1});
  }
  Var rstd(const Var& second) const {
    const Var v = statistics(second);
    return form.variance ? rsqrt(v + form.eps) : v;
  }
};
Wide wide(const RuleCall& r, const NormForm& form) { return {form, statistics_dtype(r.in[0].dtype())}; }

Var narrow(const Var& x, const Type& type) { return cast(reshape(x, type.shape), type.dtype); }

// x normalised with given statistics, and the position of the operand after them.
struct Normalised {
  Var x, rstd;
  std::size_t next;
};
Normalised normalised(const RuleCall& r, const Wide& w) {
  std::size_t at = 1;
  Var x = w.data(r.in[0]);
  if (w.form.centered) x = x - w.statistics(r.in[at++]);
  const Var rstd = w.rstd(r.in[at++]);
  return {.x = x * rstd, .rstd = rstd, .next = at};
}

void require_norm_operand(const Call& call, bool rank_fits, std::string_view expected, double eps) {
  if (call.in.empty()) require_operands(call, 1);
  if (!is_float(call.in[0].dtype)) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{}: x is {}", call.op->name, to_string(call.in[0])),
                                     .expected = "a floating-point tensor",
                                     .where = call.where,
                                     .help = "convert it with cast"});
  }
  if (!rank_fits) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: x is {}", call.op->name, to_string(call.in[0])),
                                     .expected = std::string(expected),
                                     .where = call.where});
  }
  if (!(eps >= 0)) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: eps {}", call.op->name, eps), .expected = "eps ≥ 0", .where = call.where});
  }
}

}  // namespace

NormForm trailing_form(const Call& call, bool centered) {
  const auto [dims, eps] = call.attrs_as<LayerNormAttrs>();
  require_norm_operand(call, !call.in.empty() && dims >= 1 && dims <= call.in[0].rank(),
                       "at least as many dimensions as are normalised, and one or more of those", eps);
  NormForm form{.per_element = true, .centered = centered, .eps = eps};
  const Shape& shape = call.in[0].shape;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool normalised = i >= shape.rank() - dims;
    (normalised ? form.s : form.n) *= shape[i];
    form.statistics.push_back(normalised ? 1 : shape[i]);
    if (normalised) form.affine.push_back(shape[i]);
  }
  return form;
}

NormForm channel_form(const Call& call, double eps) {
  require_norm_operand(call, !call.in.empty() && call.in[0].rank() >= 2, "x (N, C, …)", eps);
  const Shape& shape = call.in[0].shape;
  NormForm form{.n = shape[0], .g = shape[1], .eps = eps, .affine = {shape[1]}};
  for (int i = 2; i < shape.rank(); ++i) form.s *= shape[i];
  return form;
}

std::vector<Type> infer_norm(const Call& call, const NormForm& form) {
  require_operands(call, form.centered ? 3 : 2);
  require_type(call, 1, affine_type(call, form), "gain");
  if (form.centered) require_type(call, 2, affine_type(call, form), "bias");
  std::vector<Type> types = {call.in[0], statistics_type(call, form)};
  if (form.centered) types.push_back(types.back());
  return types;
}

std::vector<Type> infer_norm_grad(const Call& call, const NormForm& form) {
  require_operands(call, form.centered ? 5 : 4);
  const int at = require_statistics(call, form);
  require_type(call, at, affine_type(call, form), "gain");
  require_type(call, at + 1, call.in[0], "gradient of the result");
  return {call.in[0]};
}

std::vector<Type> infer_norm_params(const Call& call, const NormForm& form) {
  require_operands(call, form.centered ? 4 : 3);
  const int at = require_statistics(call, form);
  require_type(call, at, call.in[0], "gradient of the result");
  std::vector<Type> types = {affine_type(call, form)};
  if (form.centered) types.push_back(types.back());
  return types;
}

std::vector<Var> expand_norm(const RuleCall& r, const NormForm& form) {
  const Wide w = wide(r, form);
  Var x = w.data(r.in[0]), mean;
  if (form.centered) {
    mean = reduce_mean(x, w.row_axes(), true);
    x = x - mean;
  }
  const Var variance = reduce_mean(square(x), w.row_axes(), true);
  const Var rstd = rsqrt(variance + form.eps);
  Var y = x * rstd;
  y = y * w.affine(r.in[1]);
  if (form.centered) y = y + w.affine(r.in[2]);
  std::vector<Var> results = {narrow(y, r.in[0].type())};
  if (form.centered) results.push_back(reshape(mean, form.statistics));
  results.push_back(reshape(form.variance ? variance : rstd, form.statistics));
  return results;
}

std::vector<Var> expand_norm_grad(const RuleCall& r, const NormForm& form) {
  const Wide w = wide(r, form);
  const Normalised at = normalised(r, w);
  const Var seed = w.data(r.in[at.next + 1]);
  const Var g = seed * w.affine(r.in[at.next]);
  Var dx = g - at.x * reduce_mean(g * at.x, w.row_axes(), true);
  if (form.centered) dx = dx - reduce_mean(g, w.row_axes(), true);
  return {narrow(dx * at.rstd, r.in[0].type())};
}

std::vector<Var> expand_norm_params(const RuleCall& r, const NormForm& form) {
  const Wide w = wide(r, form);
  const Normalised at = normalised(r, w);
  const Var g = w.data(r.in[at.next]);
  const Type type{r.in[0].dtype(), form.affine};
  std::vector<Var> results = {narrow(reduce_sum(g * at.x, w.affine_axes()), type)};
  if (form.centered) results.push_back(narrow(reduce_sum(g, w.affine_axes()), type));
  return results;
}

std::vector<Var> vjp_norm(const RuleCall& r, const NormForm& form, const Op& grad, const Op& params) {
  std::vector<Var> gradients(r.in.size());
  std::vector<Var> known = {r.in[0]};  // x[, mean], second
  known.insert(known.end(), r.out.begin() + 1, r.out.end());

  if (r.seed[0]) {
    std::vector<Var> operands = known;
    operands.push_back(r.seed[0]);
    if (r.wants(1) || (form.centered && r.wants(2))) {
      const std::vector<Var> list = r.builder.call(params, operands, *r.call.attrs);
      std::copy(list.begin(), list.end(), gradients.begin() + 1);
    }
    operands.insert(operands.end() - 1, r.in[1]);
    if (r.wants(0)) gradients[0] = r.builder.call(grad, operands, *r.call.attrs).front();
  }
  if (!r.wants(0)) return gradients;

  // Somebody reads the statistics themselves: rare, so in plain ops.
  const Wide w = wide(r, form);
  const double count = static_cast<double>(form.count());
  const Var mean_seed = form.centered ? r.seed[1] : Var(), second_seed = r.seed.back();
  if (mean_seed) {
    const Var share = broadcast(w.statistics(mean_seed) / count, {form.n, form.g, form.k, form.s});
    gradients[0] = sum_of(gradients[0], narrow(share, r.in[0].type()));
  }
  if (second_seed) {
    Var x = w.data(r.in[0]);
    if (form.centered) x = x - w.statistics(r.out[1]);
    const Var second = w.statistics(r.out.back());
    const Var slope = form.variance ? w.statistics(second_seed) * (2 / count)
                                    : w.statistics(second_seed) * second * second * second * (-1 / count);
    gradients[0] = sum_of(gradients[0], narrow(x * slope, r.in[0].type()));
  }
  return gradients;
}

std::vector<Sample> forward_samples(const std::vector<NormSample>& list, bool centered) {
  std::vector<Sample> samples;
  for (const NormSample& s : list) {
    Sample sample{.in = {{.type = s.x}, {.type = {DType::f64, s.affine}}}, .attrs = s.attrs, .tolerance = 10};
    if (centered) sample.in.push_back({.type = {DType::f64, s.affine}});
    samples.push_back(sample);
  }
  return samples;
}

std::vector<Sample> grad_samples(const std::vector<NormSample>& list, bool centered) {
  std::vector<Sample> samples = params_samples(list, centered);
  for (std::size_t i = 0; i < list.size(); ++i) {
    samples[i].in.insert(samples[i].in.end() - 1, {.type = {DType::f64, list[i].affine}});
  }
  return samples;
}

std::vector<Sample> params_samples(const std::vector<NormSample>& list, bool centered) {
  std::vector<Sample> samples;
  for (const NormSample& s : list) {
    Sample sample{.in = {{.type = s.x}}, .attrs = s.attrs, .tolerance = 10};
    if (centered) sample.in.push_back({.type = {DType::f64, s.statistics}, .low = -0.5, .high = 0.5});
    sample.in.push_back({.type = {DType::f64, s.statistics}, .low = 0.5, .high = 1.5});
    sample.in.push_back({.type = s.x});
    samples.push_back(sample);
  }
  return samples;
}

const std::vector<NormSample>& trailing_cases() {
  static const std::vector<NormSample> list = {
      {.x = {DType::f64, {3, 5}}, .statistics = {3, 1}, .affine = {5}, .attrs = pack(LayerNormAttrs{})},
      {.x = {DType::f64, {2, 3, 4}},
       .statistics = {2, 1, 1},
       .affine = {3, 4},
       .attrs = pack(LayerNormAttrs{.dims = 2})},
      {.x = {DType::f64, {2, 19}},
       .statistics = {2, 1},
       .affine = {19},
       .attrs = pack(LayerNormAttrs{.eps = 0.1})}};
  return list;
}

}  // namespace tidemark
