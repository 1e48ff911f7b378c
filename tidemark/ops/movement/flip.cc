#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_axes(call, call.attrs_as<AxesAttrs>().axes, call.in[0].rank());
  return {call.in[0]};
}

std::vector<Var> flip_seed(const RuleCall& rule) {
  return {flip(rule.seed[0], rule.call.attrs_as<AxesAttrs>().axes)};
}

Var inverse(const RuleCall& rule, int) { return flip(rule.out[0], rule.call.attrs_as<AxesAttrs>().axes); }

std::optional<ViewSpec> view(const Call& call, int) {
  ViewSpec spec{.strides = operand_strides(call, 0)};
  if (call.in[0].count() == 0) return spec;
  for (std::int64_t a : call.attrs_as<AxesAttrs>().axes) {
    const auto axis = static_cast<int>(a);
    spec.offset += (call.in[0].shape[axis] - 1) * spec.strides[axis];
    spec.strides[axis] = -spec.strides[axis];
  }
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}}, .attrs = pack(AxesAttrs{{1}})},
          {.in = {{.type = {DType::f64, {2, 3, 2}}}}, .attrs = pack(AxesAttrs{{0, 1}})},
          {.in = {{.type = {DType::f64, {0, 2}}}}, .attrs = pack(AxesAttrs{{0, 1}})}};
}

}  // namespace

const Op op::flip = {
    .name = "flip",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<AxesAttrs>,
    .infer = infer,
    .vjp = flip_seed,
    .jvp = flip_seed,
    .inverse = inverse,
    .view = view,
    .samples = samples,
};

Var flip(const Var& x, const Dims& axes) {
  if (axes.empty()) return x;
  return x.builder().call1(op::flip, {x}, pack(AxesAttrs{axes}));
}

}  // namespace tidemark
