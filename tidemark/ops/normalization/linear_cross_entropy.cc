#include "tidemark/ops/normalization/linear_cross_entropy.h"

#include "tidemark/ir/failure.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

using Attributes = LinearCrossEntropyAttrs;

Shape examples_of(const Shape& x) {
  Shape examples = x;
  examples.erase(examples.rank() - 1);
  return examples;
}

std::vector<Type> infer(const Call& call) {
  require_operands(call, 4);
  const auto attrs = call.attrs_as<Attributes>();
  const Type &x = call.in[0], &w = call.in[1], &labels = call.in[2], &weights = call.in[3];
  if (!is_float(x.dtype) || w.dtype != x.dtype) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: x is {} and w is {}", call.op->name, name_of(x.dtype), name_of(w.dtype)),
          .expected = "two tensors of one floating-point dtype",
          .where = call.where});
  }
  require_index_dtype(call, 2);
  const bool matrix = x.rank() >= 1 && w.rank() == 2 && w.shape[attrs.columns ? 0 : 1] == x.shape.back();
  if (!matrix || labels.shape != examples_of(x.shape) || weights.shape != labels.shape) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: x {}, w {}, labels {} and weights {}", call.op->name, to_string(x.shape),
                              to_string(w.shape), to_string(labels.shape), to_string(weights.shape)),
          .expected = fmt::format("x (…, D), w {}, labels and weights (…)",
                                  attrs.columns ? "(D, classes)" : "(classes, D)"),
          .where = call.where,
          .help = "w with a column for each class, as `matmul(x, w)` takes it, is {.columns = true}"});
  }
  const DType wide = statistics_dtype(x.dtype);
  if (weights.dtype != wide) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: the weights are {}", call.op->name, name_of(weights.dtype)),
          .expected = fmt::format("{}, as the losses are", name_of(wide)),
          .where = call.where});
  }
  std::vector<Type> results = {{wide, {}}, {wide, labels.shape}};
  if (attrs.x_gradient) results.push_back({wide, x.shape});
  if (attrs.w_gradient) results.push_back({wide, w.shape});
  return results;
}

// Where the gradients stand among the results.
std::size_t x_gradient_at(const Attributes&) { return 2; }
std::size_t w_gradient_at(const Attributes& attrs) { return attrs.x_gradient ? 3 : 2; }

// The same in products and the cross entropy of logits: what the op means, and what its rarer derivatives
// are written in.
struct Written {
  Attributes attrs;
  Var x, w, labels, weights;  // wide
  Var logits, loss, logsumexp;
  Var counted;  // 1, or 0 for an ignored example; empty: all count
  Var safe;     // labels, all in range

  explicit Written(const RuleCall& r)
      : attrs(r.call.attrs_as<Attributes>()), labels(r.in[2]), weights(r.in[3]) {
    const DType wide = weights.dtype();
    x = cast(r.in[0], wide);
    w = cast(r.in[1], wide);
    logits = product(x, w);
    const CrossEntropy rows =
        cross_entropy(logits, labels, {.ignore = attrs.ignore, .ignore_index = attrs.ignore_index});
    loss = rows.loss;
    logsumexp = rows.logsumexp;
    safe = labels;
    if (!attrs.ignore) return;
    const Var ignored = equal(labels, constant_like(labels, attrs.ignore_index));
    counted = cast(logical_not(ignored), wide);
    safe = select(ignored, zeros_like(labels), labels);
  }

  int last() const { return x.shape().rank() - 1; }
  Var product(const Var& rows, const Var& matrix) const {  // (…, D), as w → (…, C)
    return contract(rows, matrix,
                    {.lhs_batch = {},
                     .rhs_batch = {},
                     .lhs_contract = {last()},
                     .rhs_contract = {attrs.columns ? 0 : 1}});
  }
  Var back(const Var& g, const Var& matrix) const {  // (…, C), as w → (…, D)
    return contract(g, matrix,
                    {.lhs_batch = {},
                     .rhs_batch = {},
                     .lhs_contract = {last()},
                     .rhs_contract = {attrs.columns ? 1 : 0}});
  }
  Var outer(const Var& g, const Var& rows) const {  // (…, C), (…, D) → as w
    Dims examples;
    for (int i = 0; i < last(); ++i) examples.push_back(i);
    const ContractAttrs dims{
        .lhs_batch = {}, .rhs_batch = {}, .lhs_contract = examples, .rhs_contract = examples};
    return attrs.columns ? contract(rows, g, dims) : contract(g, rows, dims);
  }
  Var by_example(const Var& rows, const Var& factor) const { return rows * expand_dims(factor, last()); }
  Var only_counted(const Var& rows) const { return counted ? by_example(rows, counted) : rows; }
  Var probabilities() const { return exp(logits - expand_dims(logsumexp, last())); }
  // The gradient of a loss to its logits.
  Var slope(const Var& p) const {
    return only_counted(p - one_hot(safe, logits.shape().back(), logits.dtype()));
  }
};

std::vector<Var> expand(const RuleCall& r) {
  const Written f(r);
  const Var weighted = f.loss * f.weights;
  std::vector<Var> results = {reduce_sum(weighted, all_axes(weighted.shape().rank())), f.loss};
  if (!f.attrs.x_gradient && !f.attrs.w_gradient) return results;
  const Var slope = f.slope(f.probabilities());
  const Var g = f.by_example(slope, f.weights);
  if (f.attrs.x_gradient) results.push_back(f.back(g, f.w));
  if (f.attrs.w_gradient) results.push_back(f.outer(g, f.x));
  return results;
}

std::vector<Var> for_reverse(const RuleCall& r) {
  auto attrs = r.call.attrs_as<Attributes>();
  attrs.x_gradient = attrs.x_gradient || r.wants(0);
  attrs.w_gradient = attrs.w_gradient || r.wants(1);
  const std::vector<Var> all = r.builder.call(op::linear_cross_entropy, r.in, pack(attrs));
  std::vector<Var> results = {all[0], all[1]};
  const auto old = r.call.attrs_as<Attributes>();
  if (old.x_gradient) results.push_back(all[x_gradient_at(attrs)]);
  if (old.w_gradient) results.push_back(all[w_gradient_at(attrs)]);
  return results;
}

// Gradients that arrive at a loss, or in higher order at the gradients: through the logits.
void add_through_logits(const RuleCall& r, const Var& at_loss, const Var& at_dx, const Var& at_dw,
                        std::vector<Var>& gradients) {
  const Written f(r);
  const Var p = f.probabilities(), slope = f.slope(p);
  Var at_logits, at_x, at_w;
  if (at_loss) at_logits = f.by_example(slope, at_loss);
  if (at_dx || at_dw) {  // dx = g w and dw = gᵀ x, where g = weights · slope
    const Var g = f.by_example(slope, f.weights);
    Var at_g;
    if (at_dx) at_g = f.product(at_dx, f.w), at_w = f.outer(g, at_dx);
    if (at_dw) at_g = sum_of(at_g, f.product(f.x, at_dw)), at_x = f.back(g, at_dw);
    const Var at_slope = f.only_counted(f.by_example(at_g, f.weights));
    const Var mean = reduce_sum(p * at_slope, {f.last()});
    const Var through = p * (at_slope - expand_dims(mean, f.last()));
    at_logits = sum_of(at_logits, through);
    gradients[3] = sum_of(gradients[3], reduce_sum(slope * at_g, {f.last()}));
  }
  at_x = sum_of(at_x, f.back(at_logits, f.w));
  at_w = sum_of(at_w, f.outer(at_logits, f.x));
  gradients[0] = sum_of(gradients[0], cast(at_x, r.in[0].dtype()));
  gradients[1] = sum_of(gradients[1], cast(at_w, r.in[1].dtype()));
}

std::vector<Var> vjp(const RuleCall& r) {
  auto attrs = r.call.attrs_as<Attributes>();
  std::vector<Var> gradients(4), out(r.out.begin(), r.out.end());
  const Var at_dx = attrs.x_gradient ? r.seed[x_gradient_at(attrs)] : Var{};
  const Var at_dw = attrs.w_gradient ? r.seed[w_gradient_at(attrs)] : Var{};
  if (const Var& at_total = r.seed[0]) {
    if ((r.wants(0) && !attrs.x_gradient) || (r.wants(1) && !attrs.w_gradient)) {
      attrs.x_gradient = attrs.w_gradient = true;
      out = r.builder.call(op::linear_cross_entropy, r.in, pack(attrs));
    }
    const auto scaled = [&](const Var& unit, DType dtype) { return cast(unit * at_total, dtype); };
    if (r.wants(0)) gradients[0] = scaled(out[x_gradient_at(attrs)], r.in[0].dtype());
    if (r.wants(1)) gradients[1] = scaled(out[w_gradient_at(attrs)], r.in[1].dtype());
    gradients[3] = out[1] * at_total;
  }
  if (r.seed[1] || at_dx || at_dw) add_through_logits(r, r.seed[1], at_dx, at_dw, gradients);
  return gradients;
}

Failure failure(const Call& call) {
  const auto attrs = call.attrs_as<Attributes>();
  IndexCheck check{.operand = 2, .bound = call.in[1].shape[attrs.columns ? 1 : 0]};
  if (attrs.ignore) check.except = attrs.ignore_index;
  return {Fails::early, check};
}

std::vector<Sample> samples() {
  const auto sample = [](const Shape& examples, std::int64_t width, std::int64_t classes,
                         const Attributes& attrs) {
    Shape x = examples;
    x.push_back(width);
    const Shape w = attrs.columns ? Shape{width, classes} : Shape{classes, width};
    return Sample{.in = {{.type = {DType::f64, x}},
                         {.type = {DType::f64, w}},
                         {.type = {DType::i64, examples}, .low = 0, .high = static_cast<double>(classes) - 1},
                         {.type = {DType::f64, examples}}},
                  .attrs = pack(attrs)};
  };
  return {sample({5}, 3, 7, {}), sample({2, 3}, 4, 5, {.ignore = true, .ignore_index = 2, .columns = true}),
          sample({}, 3, 4, {.x_gradient = true}), sample({4}, 2, 3, {.columns = true, .w_gradient = true}),
          sample({2, 2}, 3, 4, {.ignore = true, .ignore_index = 1, .x_gradient = true, .w_gradient = true})};
}

}  // namespace

// 16-bit operands come with f32 weights, a mixture that samples cannot say: `dtypes` lists the others.
const Op op::linear_cross_entropy = {
    .name = "linear_cross_entropy",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = -1,
    .schema = &schema_of<Attributes>,
    .infer = infer,
    .vjp = vjp,
    .expand = expand,
    .for_reverse = for_reverse,
    .fails = failure,
    .samples = samples,
};

LinearCrossEntropy linear_cross_entropy(const Var& x, const Var& w, const Var& labels, const Var& weights,
                                        const LinearCrossEntropyAttrs& attrs) {
  const Var operands[] = {x, w, labels, weights};
  const std::vector<Var> results = x.builder().call(op::linear_cross_entropy, operands, pack(attrs));
  return {.total = results[0], .loss = results[1]};
}

}  // namespace tidemark
