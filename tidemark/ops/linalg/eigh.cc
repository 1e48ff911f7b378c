#include "tidemark/ops/linalg/eigh.h"

#include "tidemark/ir/failure.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/matrices.h"
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
  require_matrices(call, 0);
  const Type& a = call.in[0];
  Shape values = a.shape;
  values.erase(a.rank() - 1);
  return {{a.dtype, values}, a};
}

// Ā = V (diag(w̄) + F ∘ Vᵀ V̄) Vᵀ with F_ij = 1/(w_j - w_i): Giles, "An extended collection of matrix
// derivative results for forward and reverse mode" (2008).
std::vector<Var> vjp(const RuleCall& rule) {
  const Var &values = rule.out[0], &vectors = rule.out[1];
  const Var transposed = swap_last_two(vectors);
  Var inner;
  if (rule.seed[0]) inner = diagonal_matrices(rule.seed[0]);
  if (rule.seed[1]) {
    const Var turned = matmul(transposed, rule.seed[1]);
    inner = sum_of(inner, turned * reciprocal_gaps(values));
  }
  if (!inner) return {Var()};
  return {symmetric(matmul(matmul(vectors, inner), transposed))};
}

// ẇ = diag(P) and V̇ = V (F ∘ P) with P = Vᵀ Ȧ V.
std::vector<Var> jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const Var &values = rule.out[0], &vectors = rule.out[1];
  const Var moved = matmul(symmetric(rule.seed[0]), vectors);
  const Var p = matmul(swap_last_two(vectors), moved);
  const Var turned = p * reciprocal_gaps(values);
  const Var values_tangent = main_diagonal(p);
  return {values_tangent, matmul(vectors, turned)};
}

std::vector<Sample> samples() {
  const auto matrices = [](const Shape& shape) {
    return Sample{.in = {{.type = {DType::f64, shape}}}, .tolerance = 100};
  };
  return {matrices({1, 1}), matrices({3, 3}), matrices({2, 2, 2}), matrices({0, 0}), matrices({0, 3, 3})};
}

}  // namespace

const Op op::eigh = {
    .name = "eigh",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = 2,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .fails = [](const Call&) { return Failure{Fails::late}; },  // found out half-way
    .samples = samples,
};

EigenPairs eigh(const Var& a) {
  const std::vector<Var> results = a.builder().call(op::eigh, {&a, 1});
  return {results[0], results[1]};
}

}  // namespace tidemark
