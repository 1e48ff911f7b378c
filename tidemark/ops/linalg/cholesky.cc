#include "tidemark/ops/linalg/cholesky.h"

#include "tidemark/ir/failure.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/matrices.h"
#include "tidemark/ops/linalg/triangular_solve.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  require_square(call, 0);
  return {call.in[0]};
}

// The lower triangle with the diagonal halved: the Φ of Murray, "Differentiation of the Cholesky
// decomposition" (2016).
Var half_lower(const Var& x) {
  const Var lower = tril(x);
  return (lower + tril(x, -1)) * 0.5;
}

// Ā = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹)
std::vector<Var> vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  const Var& l = rule.out[0];
  const Var upper = swap_last_two(l);
  const Var inner = half_lower(matmul(upper, tril(rule.seed[0])));
  const Var left = triangular_solve(l, inner, {.left = true, .lower = true, .transpose = true});
  return {symmetric(triangular_solve(l, left, {.left = false, .lower = true}))};
}

// L̇ = L Φ(L⁻¹ sym(Ȧ) L⁻ᵀ)
std::vector<Var> jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  const Var& l = rule.out[0];
  const Var left = triangular_solve(l, symmetric(rule.seed[0]), {.left = true, .lower = true});
  return {
      matmul(l, half_lower(triangular_solve(l, left, {.left = false, .lower = true, .transpose = true})))};
}

std::vector<Sample> samples() {
  const auto positive = [](const Shape& shape) {
    return Sample{.in = {{.type = {DType::f64, shape}, .low = -1, .high = 1, .diagonal = 5}},
                  .tolerance = 10};
  };
  return {positive({1, 1}), positive({4, 4}), positive({2, 3, 3}), positive({0, 0})};
}

}  // namespace

const Op op::cholesky = {
    .name = "cholesky",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .fails = [](const Call&) { return Failure{Fails::late}; },  // found out half-way
    .samples = samples,
};

Var cholesky(const Var& a) { return a.builder().call1(op::cholesky, {a}); }

}  // namespace tidemark
