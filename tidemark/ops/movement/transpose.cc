#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  const Dims order = call.attrs_as<TransposeAttrs>().order;
  const Shape& from = call.in[0].shape;
  unsigned seen = 0;
  for (std::int64_t axis : order) {
    if (0 <= axis && axis < from.rank()) seen |= 1u << axis;
  }
  if (order.rank() != from.rank() || seen != (1u << from.rank()) - 1u) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("transpose: the order {} for a tensor of shape {}",
                                                        to_string(order), to_string(from)),
                                    .expected = fmt::format("each of the axes [0, {}) once", from.rank()),
                                    .where = call.where});
  }
  Shape to;
  for (std::int64_t axis : order) to.push_back(from[static_cast<int>(axis)]);
  return {{call.in[0].dtype, to}};
}

Var transpose_back(const RuleCall& rule, const Var& y) {
  const Dims order = rule.call.attrs_as<TransposeAttrs>().order;
  Dims back = order;
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  return transpose(y, back);
}
std::vector<Var> vjp(const RuleCall& rule) { return {transpose_back(rule, rule.seed[0])}; }
Var inverse(const RuleCall& rule, int) { return transpose_back(rule, rule.out[0]); }
std::vector<Var> jvp(const RuleCall& rule) {
  return {transpose(rule.seed[0], rule.call.attrs_as<TransposeAttrs>().order)};
}

std::optional<ViewSpec> view(const Call& call, int) {
  const Strides strides = operand_strides(call, 0);
  ViewSpec spec;
  for (std::int64_t axis : call.attrs_as<TransposeAttrs>().order)
    spec.strides.push_back(strides[static_cast<int>(axis)]);
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {2, 3, 4}}}}, .attrs = pack(TransposeAttrs{{1, 2, 0}})},
          {.in = {{.type = {DType::f64, {5, 2}}}}, .attrs = pack(TransposeAttrs{{1, 0}})},
          {.in = {{.type = {DType::f64, {}}}}, .attrs = pack(TransposeAttrs{{}})}};
}

}  // namespace

const Op op::transpose = {
    .name = "transpose",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<TransposeAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .inverse = inverse,
    .view = view,
    .samples = samples,
};

Var transpose(const Var& x, const Dims& order) {
  bool moves = order.rank() != x.shape().rank();
  for (int i = 0; i < order.rank(); ++i) moves = moves || order[i] != i;
  if (!moves) return x;
  return x.builder().call1(op::transpose, {x}, pack(TransposeAttrs{order}));
}

Var swap_last_two(const Var& x) {
  const int rank = x.shape().rank();
  TM_CHECK(rank >= 2, "swap_last_two of rank {}", rank);
  Dims order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(x, order);
}

}  // namespace tidemark
