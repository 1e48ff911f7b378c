#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  const Shape& from = call.in[0].shape;
  const Shape to = call.attrs_as<BroadcastAttrs>().shape;
  bool fits = from.rank() <= to.rank();
  for (int i = 0; fits && i < from.rank(); ++i) {
    const std::int64_t size = from[from.rank() - 1 - i];
    fits = size == 1 || size == to[to.rank() - 1 - i];
  }
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("broadcast: {} does not broadcast to {}", to_string(from), to_string(to)),
          .expected = "sizes equal or 1, aligned at the last dimension",
          .where = call.where});
  }
  return {{call.in[0].dtype, to}};
}

std::vector<Var> vjp(const RuleCall& rule) { return {sum_to(rule.seed[0], rule.in[0].shape())}; }
std::vector<Var> jvp(const RuleCall& rule) { return {broadcast(rule.seed[0], rule.out[0].shape())}; }

std::optional<ViewSpec> view(const Call& call, int) {
  const Shape to = call.attrs_as<BroadcastAttrs>().shape;
  const Shape& from = call.in[0].shape;
  const Strides strides = operand_strides(call, 0);
  ViewSpec spec{.operand = 0, .offset = 0, .strides = Strides::filled(to.rank(), 0)};
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1) spec.strides[i + to.rank() - from.rank()] = strides[i];
  }
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 1}}}}, .attrs = pack(BroadcastAttrs{{2, 3, 4}})},
          {.in = {{.type = {DType::f64, {}}}}, .attrs = pack(BroadcastAttrs{{2, 3}})},
          {.in = {{.type = {DType::f64, {1}}}}, .attrs = pack(BroadcastAttrs{{0}})}};
}

}  // namespace

const Op op::broadcast = {
    .name = "broadcast",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<BroadcastAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .view = view,
    .samples = samples,
};

Var broadcast(const Var& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return x.builder().call1(op::broadcast, {x}, pack(BroadcastAttrs{shape}));
}

}  // namespace tidemark
