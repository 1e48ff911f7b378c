#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  if (call.in.empty()) require_operands(call, 1);
  const Type& first = call.in[0];
  const std::int64_t axis = call.attrs_as<AxisAttrs>().axis;
  require_axis(call, axis, first.rank());
  Shape to = first.shape;
  for (std::size_t k = 1; k < call.in.size(); ++k) {
    require_same_dtype(call, 0, static_cast<int>(k));
    const Shape& shape = call.in[k].shape;
    bool fits = shape.rank() == to.rank();
    for (int i = 0; fits && i < to.rank(); ++i) fits = i == axis || shape[i] == to[i];
    if (!fits) {
      fail(ErrorCode::shape_mismatch, {.what = fmt::format("concat: operand 0 is {} and operand {} is {}",
                                                           to_string(first.shape), k, to_string(shape)),
                                       .expected = fmt::format("equal sizes along every axis but {}", axis),
                                       .where = call.where});
    }
    to[static_cast<int>(axis)] += shape[static_cast<int>(axis)];
  }
  return {{first.dtype, to}};
}

std::vector<Var> vjp(const RuleCall& rule) {
  const auto axis = static_cast<int>(rule.call.attrs_as<AxisAttrs>().axis);
  IntList sizes;
  for (const Var& part : rule.in) sizes.push_back(part.shape()[axis]);
  return split(rule.seed[0], axis, sizes);
}

std::vector<Var> jvp(const RuleCall& rule) {
  std::vector<Var> parts;
  for (std::size_t k = 0; k < rule.in.size(); ++k) {
    parts.push_back(rule.seed[k] ? rule.seed[k] : zeros_like(rule.in[k]));
  }
  return {concat(parts, static_cast<int>(rule.call.attrs_as<AxisAttrs>().axis))};
}

Var inverse(const RuleCall& rule, int operand) {
  const auto axis = static_cast<int>(rule.call.attrs_as<AxisAttrs>().axis);
  std::int64_t start = 0;
  for (int k = 0; k < operand; ++k) start += rule.call.in[static_cast<std::size_t>(k)].shape[axis];
  const std::int64_t size = rule.call.in[static_cast<std::size_t>(operand)].shape[axis];
  return slice_axis(rule.out[0], axis, start, start + size);
}

std::vector<Sample> samples() {
  return {
      {.in = {{.type = {DType::f64, {2, 3}}}, {.type = {DType::f64, {2, 1}}}, {.type = {DType::f64, {2, 2}}}},
       .attrs = pack(AxisAttrs{1})},
      {.in = {{.type = {DType::f64, {3}}}, {.type = {DType::f64, {0}}}}, .attrs = pack(AxisAttrs{0})}};
}

}  // namespace

const Op op::concat = {
    .name = "concat",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<AxisAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .inverse = inverse,
    .samples = samples,
};

Var concat(std::span<const Var> parts, int axis) {
  TM_CHECK(!parts.empty(), "concat of nothing");
  if (parts.size() == 1) return parts[0];
  return parts[0].builder().call(op::concat, parts, pack(AxisAttrs{axis})).front();
}

}  // namespace tidemark
