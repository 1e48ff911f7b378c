#include "tidemark/ops/linalg/solve.h"

#include <algorithm>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/triangular_solve.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) { return infer_system(call, true); }

// b̄ = op(A)⁻ᵀ x̄; the gradient of op(A) is -b̄ xᵀ.
std::vector<Var> vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const bool transpose = rule.call.attrs_as<SolveAttrs>().transpose;
  const Var& x = rule.out[0];
  const Var b_grad = solve(rule.in[0], rule.seed[0], {.transpose = !transpose});
  if (!rule.wants(0)) return {Var(), b_grad};
  return {-(transpose ? matmul(x, swap_last_two(b_grad)) : matmul(b_grad, swap_last_two(x))), b_grad};
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<SolveAttrs>();
  Var right = rule.seed[1];
  if (rule.seed[0]) {
    const Var moved = attrs.transpose ? swap_last_two(rule.seed[0]) : rule.seed[0];
    right = sum_of(right, -matmul(moved, rule.out[0]));
  }
  return {right ? solve(rule.in[0], right, attrs) : Var()};
}

std::vector<Sample> samples() {
  const auto system = [](const Shape& a, const Shape& b, bool transpose) {
    return Sample{
        .in = {{.type = {DType::f64, a}, .low = -1, .high = 1, .diagonal = 3}, {.type = {DType::f64, b}}},
        .attrs = pack(SolveAttrs{transpose}),
        .tolerance = 10};
  };
  return {system({1, 1}, {1, 2}, false), system({4, 4}, {4, 3}, false), system({4, 4}, {4, 1}, true),
          system({2, 3, 3}, {2, 3, 2}, false), system({2, 3, 3}, {2, 3, 2}, true)};
}

}  // namespace

const Op op::solve = {
    .name = "solve",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .schema = &schema_of<SolveAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .fails = [](const Call&) { return Failure{Fails::late}; },  // found out half-way
    .samples = samples,
};

Var solve(const Var& a, const Var& b, const SolveAttrs& attrs) {
  if (b.shape().rank() == 1)
    return squeeze(solve(a, expand_dims(b, 1), attrs), std::max(a.shape().rank() - 1, 1));
  const System system = broadcast_system(a, b);
  return a.builder().call1(op::solve, {system.a, system.b}, pack(attrs));
}

}  // namespace tidemark
