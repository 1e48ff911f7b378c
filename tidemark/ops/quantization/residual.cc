#include "tidemark/ops/quantization/residual.h"

#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  return {call.in[0]};
}

// Of the value itself: a second derivative does not see that a rule read a copy.
std::vector<Var> pass_on(const RuleCall& rule) { return {rule.seed[0]}; }

std::optional<ViewSpec> view(const Call& call, int) { return ViewSpec{.strides = operand_strides(call, 0)}; }

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}}, .attrs = pack(ResidualAttrs{})},
          {.in = {{.type = {DType::f64, {}}}}, .attrs = pack(ResidualAttrs{})}};
}

}  // namespace

const Op op::residual = {
    .name = "residual",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<ResidualAttrs>,
    .infer = infer,
    .vjp = pass_on,
    .jvp = pass_on,
    .view = view,
    .samples = samples,
};

Var residual(const Var& x, std::string format) {
  return x.builder().call1(op::residual, {x}, pack(ResidualAttrs{std::move(format)}));
}

}  // namespace tidemark
