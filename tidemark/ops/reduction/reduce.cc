#include "tidemark/ops/reduction/reduce.h"

#include <fmt/format.h>

#include <limits>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

Shape reduced_shape(const Shape& shape, const Dims& axes, bool keep) {
  Shape result;
  int next = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool reduced = next < axes.rank() && axes[next] == i;
    if (reduced) ++next;
    if (!reduced) result.push_back(shape[i]);
    if (reduced && keep) result.push_back(1);
  }
  return result;
}

std::int64_t reduced_count(const Shape& shape, const Dims& axes) {
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return count;
}

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const auto attrs = call.attrs_as<ReduceAttrs>();
  require_axes(call, attrs.axes, call.in[0].rank());
  return {{call.in[0].dtype, reduced_shape(call.in[0].shape, attrs.axes, attrs.keep)}};
}

std::vector<Type> infer_nonempty(const Call& call) {
  const std::vector<Type> result = infer(call);
  const Dims axes = call.attrs_as<ReduceAttrs>().axes;
  if (reduced_count(call.in[0].shape, axes) == 0) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: nothing to choose from along axes {} of {}", call.op->name,
                              to_string(axes), to_string(call.in[0].shape)),
          .expected = "at least one element per result",
          .where = call.where});
  }
  return result;
}

// What a rule works with: the operand, and results spread back over it.
struct Spread {
  explicit Spread(const RuleCall& rule)
      : x(rule.in[0]),
        attrs(rule.call.attrs_as<ReduceAttrs>()),
        kept(reduced_shape(x.shape(), attrs.axes, true)),
        count(static_cast<double>(reduced_count(x.shape(), attrs.axes))) {}
  Var keep(const Var& y) const { return reshape(y, kept); }
  // Written where no axis is longer than 1, too: the function of one example then has the nodes of that of
  // many, so that a batch can be computed one by one (opt/split_batch.h).
  Var over(const Var& y) const {
    if (attrs.axes.rank() == 0) return keep(y);
    return y.builder().call1(op::broadcast, {keep(y)}, pack(BroadcastAttrs{x.shape()}));
  }
  Var sum(const Var& t) const { return reduce_sum(t, attrs.axes, attrs.keep); }

  Var x;
  ReduceAttrs attrs;
  Shape kept;
  double count;
};

std::vector<Var> sum_vjp(const RuleCall& rule) { return {Spread(rule).over(rule.seed[0])}; }
std::vector<Var> sum_jvp(const RuleCall& rule) { return {Spread(rule).sum(rule.seed[0])}; }

std::vector<Var> mean_vjp(const RuleCall& rule) {
  const Spread spread(rule);
  return {spread.over(rule.seed[0] / spread.count)};
}
std::vector<Var> mean_jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ReduceAttrs>();
  return {reduce_mean(rule.seed[0], attrs.axes, attrs.keep)};
}

// Every operand element equal to the extremum gets the same share.
Var extremum_weights(const RuleCall& rule, const Spread& spread) {
  const Var hit = cast(equal(spread.x, spread.keep(rule.out[0])), spread.x.dtype());
  return hit / reduce_sum(hit, spread.attrs.axes, true);
}
std::vector<Var> extremum_vjp(const RuleCall& rule) {
  const Spread spread(rule);
  const Var g = spread.keep(rule.seed[0]);
  return {g * extremum_weights(rule, spread)};
}
std::vector<Var> extremum_jvp(const RuleCall& rule) {
  const Spread spread(rule);
  return {spread.sum(rule.seed[0] * extremum_weights(rule, spread))};
}

// seed times the product of all other elements, without division: products up a binary tree, then back down,
// so that zeros are as good as any other value and the rule can be differentiated again. x: (…, n), seed: (…,
// 1).
Var product_of_others(const Var& x, const Var& seed) {
  const int last = x.shape().rank() - 1;
  const std::int64_t n = x.shape()[last];
  if (n <= 1) return broadcast(seed, x.shape());
  const std::int64_t half = (n + 1) / 2;
  Dims none = Dims::filled(last + 1, 0), high = none;
  high[last] = 2 * half - n;
  const Var even = high[last] == 0 ? x : pad(x, constant_like(x, 1), none, high, none);
  const Var left = slice_axis(even, last, 0, half), right = slice_axis(even, last, half, 2 * half);
  const Var others = product_of_others(left * right, seed);
  const Var both[] = {others * right, others * left};
  const Var joined = concat(both, last);
  return high[last] == 0 ? joined : slice_axis(joined, last, 0, n);
}

// The same for any axes: they go to the back and become one.
Var product_of_others(const Spread& spread, const Var& seed) {
  const Shape& shape = spread.x.shape();
  Dims order, inverse = Dims::filled(shape.rank(), 0);
  Shape moved, flat;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < shape.rank(); ++i) {
      const bool reduced =
          std::find(spread.attrs.axes.begin(), spread.attrs.axes.end(), i) != spread.attrs.axes.end();
      if (reduced != (pass == 1)) continue;
      inverse[i] = order.rank();
      order.push_back(i);
      moved.push_back(shape[i]);
    }
    if (pass == 0) flat = moved;
  }
  Shape one = flat;
  one.push_back(1);
  flat.push_back(reduced_count(shape, spread.attrs.axes));
  const Var x = reshape(transpose(spread.x, order), flat);
  const Var others = product_of_others(x, reshape(seed, one));
  return transpose(reshape(others, moved), inverse);
}

std::vector<Var> prod_vjp(const RuleCall& rule) { return {product_of_others(Spread(rule), rule.seed[0])}; }
std::vector<Var> prod_jvp(const RuleCall& rule) {
  const Spread spread(rule);
  return {spread.sum(rule.seed[0] * product_of_others(spread, ones_like(rule.out[0])))};
}

// softmax(x). A row that is -inf throughout has weight 0 everywhere instead of NaN.
Var logsumexp_weights(const RuleCall& rule, const Spread& spread) {
  const Var y = spread.keep(rule.out[0]);
  const Var bottom = constant_like(y, -std::numeric_limits<double>::infinity());
  const Var empty = equal(y, bottom);
  return exp(spread.x - select(empty, zeros_like(y), y));
}
std::vector<Var> logsumexp_vjp(const RuleCall& rule) {
  const Spread spread(rule);
  const Var g = spread.keep(rule.seed[0]);
  return {g * logsumexp_weights(rule, spread)};
}
std::vector<Var> logsumexp_jvp(const RuleCall& rule) {
  const Spread spread(rule);
  return {spread.sum(rule.seed[0] * logsumexp_weights(rule, spread))};
}

Var var_slope(const Spread& spread) {
  return (spread.x - reduce_mean(spread.x, spread.attrs.axes, true)) * (2.0 / spread.count);
}
std::vector<Var> var_vjp(const RuleCall& rule) {
  const Spread spread(rule);
  const Var g = spread.keep(rule.seed[0]);
  return {g * var_slope(spread)};
}
std::vector<Var> var_jvp(const RuleCall& rule) {
  const Spread spread(rule);
  return {spread.sum(rule.seed[0] * var_slope(spread))};
}

std::vector<Sample> samples() {
  const Sample::Operand x{.type = {DType::f64, {3, 4, 2}}};
  return {{.in = {x}, .attrs = pack(ReduceAttrs{{2}, false})},
          {.in = {x}, .attrs = pack(ReduceAttrs{{0}, true})},
          {.in = {x}, .attrs = pack(ReduceAttrs{{0, 2}, false})},
          {.in = {x}, .attrs = pack(ReduceAttrs{{0, 1, 2}, false})},
          {.in = {{.type = {DType::f64, {5}}}}, .attrs = pack(ReduceAttrs{{0}, false})},
          {.in = {{.type = {DType::f64, {0, 3}}}}, .attrs = pack(ReduceAttrs{{1}, false})}};
}

constexpr Op reduction(std::string_view name, DTypeSet dtypes, std::vector<Var> (*vjp)(const RuleCall&),
                       std::vector<Var> (*jvp)(const RuleCall&),
                       std::vector<Type> (*type_rule)(const Call&) = infer) {
  return {
      .name = name,
      .kind = OpKind::reduction,
      .dtypes = dtypes,
      .schema = &schema_of<ReduceAttrs>,
      .infer = type_rule,
      .vjp = vjp,
      .jvp = jvp,
      .samples = samples,
  };
}

}  // namespace

const Op op::reduce_sum = reduction("reduce_sum", numbers, sum_vjp, sum_jvp);
const Op op::reduce_mean = reduction("reduce_mean", floats, mean_vjp, mean_jvp);
const Op op::reduce_max = reduction("reduce_max", any_dtype, extremum_vjp, extremum_jvp, infer_nonempty);
const Op op::reduce_min = reduction("reduce_min", any_dtype, extremum_vjp, extremum_jvp, infer_nonempty);
const Op op::reduce_prod = reduction("reduce_prod", numbers, prod_vjp, prod_jvp);
const Op op::reduce_logsumexp = reduction("reduce_logsumexp", floats, logsumexp_vjp, logsumexp_jvp);
const Op op::reduce_var = reduction("reduce_var", floats, var_vjp, var_jvp);

namespace {

Var reduce(const Op& op, const Var& x, const Dims& axes, bool keep) {
  return x.builder().call1(op, {x}, pack(ReduceAttrs{axes, keep}));
}

}  // namespace

Var reduce_sum(const Var& x, const Dims& axes, bool keep) {
  return axes.empty() ? x : reduce(op::reduce_sum, x, axes, keep);
}
Var reduce_mean(const Var& x, const Dims& axes, bool keep) {
  return axes.empty() ? x : reduce(op::reduce_mean, x, axes, keep);
}
Var reduce_max(const Var& x, const Dims& axes, bool keep) { return reduce(op::reduce_max, x, axes, keep); }
Var reduce_min(const Var& x, const Dims& axes, bool keep) { return reduce(op::reduce_min, x, axes, keep); }
Var reduce_prod(const Var& x, const Dims& axes, bool keep) { return reduce(op::reduce_prod, x, axes, keep); }
Var reduce_logsumexp(const Var& x, const Dims& axes, bool keep) {
  return reduce(op::reduce_logsumexp, x, axes, keep);
}
Var reduce_var(const Var& x, const Dims& axes, bool keep) { return reduce(op::reduce_var, x, axes, keep); }

Dims all_axes(int rank) {
  Dims axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

Var sum_to(const Var& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int added = x.shape().rank() - shape.rank();
  TM_CHECK(added >= 0, "sum_to: {} to {}", to_string(x.shape()), to_string(shape));
  Dims axes;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i < added || (shape[i - added] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return reshape(reduce_sum(x, axes), shape);
}

}  // namespace tidemark
