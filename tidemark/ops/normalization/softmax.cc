#include "tidemark/ops/normalization/softmax.h"

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

Dims axis_of(const Call& call) { return {call.attrs_as<AxisAttrs>().axis}; }

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  require_axis(call, call.attrs_as<AxisAttrs>().axis, call.in[0].rank());
  return {call.in[0]};
}

std::vector<Type> infer_grad(const Call& call) {
  require_operands(call, 2);
  require_data_dtype(call, 0);
  require_axis(call, call.attrs_as<AxisAttrs>().axis, call.in[0].rank());
  if (call.in[0] != call.in[1]) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: {} and {} differ", call.op->name,
                                                         to_string(call.in[0]), to_string(call.in[1])),
                                     .expected = "the result and its gradient, of one type",
                                     .where = call.where});
  }
  return {call.in[0]};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 5}}}}, .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {2, 4, 3}}}}, .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {7}}, .low = -20, .high = 20}},
           .attrs = pack(AxisAttrs{0}),
           .tolerance = 10},
          {.in = {{.type = {DType::f64, {2, 37}}}}, .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {4, 1}}}}, .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {0, 3}}}}, .attrs = pack(AxisAttrs{0})}};
}
// Any y will do: the formulas are smooth in y and g whether or not y sums to one.
std::vector<Sample> samples_grad() {
  return {
      {.in = {{.type = {DType::f64, {3, 5}}}, {.type = {DType::f64, {3, 5}}}}, .attrs = pack(AxisAttrs{1})},
      {.in = {{.type = {DType::f64, {2, 4, 3}}}, {.type = {DType::f64, {2, 4, 3}}}},
       .attrs = pack(AxisAttrs{1})},
      {.in = {{.type = {DType::f64, {2, 19}}}, {.type = {DType::f64, {2, 19}}}},
       .attrs = pack(AxisAttrs{1})}};
}

std::vector<Var> expand_softmax(const RuleCall& r) {
  if (r.in[0].type().count() == 0) return {r.in[0]};  // rows of nothing have no largest element
  const Dims axis = axis_of(r.call);
  const Var x = cast(r.in[0], statistics_dtype(r.in[0].dtype()));
  const Var e = exp(x - stop_gradient(reduce_max(x, axis, true)));
  return {cast(e / reduce_sum(e, axis, true), r.in[0].dtype())};
}
std::vector<Var> vjp_softmax(const RuleCall& r) {
  return {softmax_grad(r.out[0], r.seed[0], static_cast<int>(axis_of(r.call)[0]))};
}
std::vector<Var> expand_softmax_grad(const RuleCall& r) {
  const DType wide = statistics_dtype(r.in[0].dtype());
  const Var y = cast(r.in[0], wide), g = cast(r.in[1], wide);
  return {cast(y * (g - reduce_sum(g * y, axis_of(r.call), true)), r.in[0].dtype())};
}

std::vector<Var> expand_log_softmax(const RuleCall& r) {
  const Var x = cast(r.in[0], statistics_dtype(r.in[0].dtype()));
  return {cast(x - reduce_logsumexp(x, axis_of(r.call), true), r.in[0].dtype())};
}
std::vector<Var> vjp_log_softmax(const RuleCall& r) {
  return {log_softmax_grad(r.out[0], r.seed[0], static_cast<int>(axis_of(r.call)[0]))};
}
std::vector<Var> expand_log_softmax_grad(const RuleCall& r) {
  const DType wide = statistics_dtype(r.in[0].dtype());
  const Var y = cast(r.in[0], wide), g = cast(r.in[1], wide);
  const Var p = exp(y);
  return {cast(g - p * reduce_sum(g, axis_of(r.call), true), r.in[0].dtype())};
}

Attrs axis_attrs(const Var& x, int axis) {
  return pack(AxisAttrs{axis < 0 ? axis + x.shape().rank() : axis});
}

}  // namespace

const Op op::softmax = {
    .name = "softmax",
    .schema = &schema_of<AxisAttrs>,
    .infer = infer,
    .vjp = vjp_softmax,
    .expand = expand_softmax,
    .tolerant = true,
    .samples = samples,
};
const Op op::softmax_grad = {
    .name = "softmax_grad",
    .schema = &schema_of<AxisAttrs>,
    .infer = infer_grad,
    .expand = expand_softmax_grad,
    .samples = samples_grad,
};
const Op op::log_softmax = {
    .name = "log_softmax",
    .schema = &schema_of<AxisAttrs>,
    .infer = infer,
    .vjp = vjp_log_softmax,
    .expand = expand_log_softmax,
    .samples = samples,
};
const Op op::log_softmax_grad = {
    .name = "log_softmax_grad",
    .schema = &schema_of<AxisAttrs>,
    .infer = infer_grad,
    .expand = expand_log_softmax_grad,
    .samples = samples_grad,
};

Var softmax(const Var& x, int axis) { return x.builder().call1(op::softmax, {x}, axis_attrs(x, axis)); }
Var log_softmax(const Var& x, int axis) {
  return x.builder().call1(op::log_softmax, {x}, axis_attrs(x, axis));
}
Var softmax_grad(const Var& y, const Var& g, int axis) {
  return y.builder().call1(op::softmax_grad, {y, g}, axis_attrs(y, axis));
}
Var log_softmax_grad(const Var& y, const Var& g, int axis) {
  return y.builder().call1(op::log_softmax_grad, {y, g}, axis_attrs(y, axis));
}

}  // namespace tidemark
