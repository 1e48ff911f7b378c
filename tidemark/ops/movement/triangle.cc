#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  if (call.in[0].rank() < 2) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: a tensor of shape {}", call.op->name, to_string(call.in[0].shape)),
          .expected = "at least two dimensions",
          .where = call.where});
  }
  return {call.in[0]};
}

std::vector<Var> lower(const RuleCall& rule) {
  return {tril(rule.seed[0], rule.call.attrs_as<TriangleAttrs>().diagonal)};
}
std::vector<Var> upper(const RuleCall& rule) {
  return {triu(rule.seed[0], rule.call.attrs_as<TriangleAttrs>().diagonal)};
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {3, 3}}}}, .attrs = pack(TriangleAttrs{0})},
          {.in = {{.type = {DType::f64, {2, 3, 5}}}}, .attrs = pack(TriangleAttrs{1})},
          {.in = {{.type = {DType::f64, {4, 2}}}}, .attrs = pack(TriangleAttrs{-1})}};
}

constexpr Op triangle(std::string_view name, std::vector<Var> (*rule)(const RuleCall&)) {
  return {
      .name = name,
      .kind = OpKind::movement,
      .dtypes = any_dtype,
      .schema = &schema_of<TriangleAttrs>,
      .infer = infer,
      .vjp = rule,
      .jvp = rule,
      .samples = samples,
  };
}

}  // namespace

const Op op::tril = triangle("tril", lower);
const Op op::triu = triangle("triu", upper);

Var tril(const Var& x, std::int64_t diagonal) {
  return x.builder().call1(op::tril, {x}, pack(TriangleAttrs{diagonal}));
}
Var triu(const Var& x, std::int64_t diagonal) {
  return x.builder().call1(op::triu, {x}, pack(TriangleAttrs{diagonal}));
}

}  // namespace tidemark
