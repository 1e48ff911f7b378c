// The identity whose derivative is zero. A view of its operand: it costs nothing when planned.
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  return {call.in[0]};
}

std::optional<ViewSpec> view(const Call& call, int) { return ViewSpec{.strides = operand_strides(call, 0)}; }

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}}, .smooth = false},
          {.in = {{.type = {DType::f64, {}}}}, .smooth = false}};
}

}  // namespace

const Op op::stop_gradient = {
    .name = "stop_gradient",
    .kind = OpKind::movement,
    .derivative = Derivative::zero,
    .dtypes = any_dtype,
    .infer = infer,
    .view = view,
    .samples = samples,
};

Var stop_gradient(const Var& x) { return x.builder().call1(op::stop_gradient, {x}); }

}  // namespace tidemark
