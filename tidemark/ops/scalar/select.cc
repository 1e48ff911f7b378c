#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 3);
  require_dtype(call, 0, booleans);
  require_same_dtype(call, 1, 2);
  const Shape branches = broadcast_shapes(call, call.in[1].shape, call.in[2].shape);
  return {{call.in[1].dtype, broadcast_shapes(call, call.in[0].shape, branches)}};
}

std::vector<Var> vjp(const RuleCall& rule) {
  const Var &g = rule.seed[0], &condition = rule.in[0];
  std::vector<Var> gradients(3);
  if (!g) return gradients;
  const Var zero = constant_like(g, 0);
  if (rule.wants(1)) gradients[1] = sum_to(select(condition, g, zero), rule.in[1].shape());
  if (rule.wants(2)) gradients[2] = sum_to(select(condition, zero, g), rule.in[2].shape());
  return gradients;
}

std::vector<Var> jvp(const RuleCall& rule) {
  const Var &a = rule.seed[1], &b = rule.seed[2];
  if (!a && !b) return {Var()};
  const Var zero = constant_like(a ? a : b, 0);
  return {broadcast(select(rule.in[0], a ? a : zero, b ? b : zero), rule.out[0].shape())};
}

std::vector<Sample> samples() {
  const std::array<Shape, 3> shapes[] = {{Shape{2, 3}, {2, 3}, {2, 3}},
                                         {Shape{3}, {2, 3}, {}},
                                         {Shape{2, 1}, {3}, {1, 3}},
                                         {Shape{}, {4}, {4}},
                                         {Shape{2, 3}, {}, {}}};
  std::vector<Sample> list;
  for (const auto& [condition, a, b] : shapes) {
    list.push_back({.in = {{.type = {DType::boolean, condition}, .low = 0, .high = 1},
                           {.type = {DType::f64, a}},
                           {.type = {DType::f64, b}}}});
  }
  return list;
}

}  // namespace

const Op op::select = {
    .name = "select",
    .kind = OpKind::elementwise,
    .dtypes = any_dtype,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

Var select(const Var& condition, const Var& on_true, const Var& on_false) {
  return on_true.builder().call1(op::select, {condition, on_true, on_false});
}

}  // namespace tidemark
