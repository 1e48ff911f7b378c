#include "tidemark/ops/linalg/svd.h"

#include <algorithm>

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
  require_matrices(call, 0);
  const Type& a = call.in[0];
  const std::int64_t rank = std::min(a.shape[a.rank() - 2], a.shape.back());
  Shape u = a.shape, s = a.shape, vt = a.shape;
  u.back() = rank;
  s.erase(a.rank() - 1);
  s.back() = rank;
  vt[a.rank() - 2] = rank;
  return {{a.dtype, u}, {a.dtype, s}, {a.dtype, vt}};
}

// 1/(s_j² - s_i²), 0 on the diagonal. As a product, without the rounding of squares.
Var reciprocal_square_gaps(const Var& s) {
  const Var gaps = reciprocal_gaps(s);
  const Var row = as_row(s), column = as_column(s);
  const Var one = identity_matrix(s.builder(), s.dtype(), s.shape().back());
  return gaps / select(greater(one, zeros_like(one)), ones_like(one), row + column);
}

Var skew(const Var& x) { return x - swap_last_two(x); }

// Ā = U ((F ∘ skew(Uᵀ Ū)) S + S (F ∘ skew(Vᵀ V̄)) + diag(s̄)) Vᵀ, and of what is orthogonal to U and V:
// (I - U Uᵀ) Ū S⁻¹ Vᵀ + U S⁻¹ V̄ᵀ (I - V Vᵀ), with F_ij = 1/(s_j² - s_i²) and skew(X) = X - Xᵀ. Townsend,
// "Differentiating the singular value decomposition" (2016).
std::vector<Var> vjp(const RuleCall& rule) {
  const Var &u = rule.out[0], &s = rule.out[1], &vt = rule.out[2];
  const Var &u_grad = rule.seed[0], &s_grad = rule.seed[1], &vt_grad = rule.seed[2];
  if (!u_grad && !s_grad && !vt_grad) return {Var()};
  const Shape& shape = rule.in[0].shape();
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  const Var row = as_row(s), column = as_column(s);
  Var inner, beside;
  if (s_grad) inner = diagonal_matrices(s_grad);
  if (u_grad) {
    const Var turned = matmul(swap_last_two(u), u_grad);
    const Var scaled = skew(turned) * reciprocal_square_gaps(s);
    inner = sum_of(inner, scaled * row);
    if (rows > columns) {
      const Var orthogonal = (u_grad - matmul(u, turned)) / row;
      beside = matmul(orthogonal, vt);
    }
  }
  if (vt_grad) {
    const Var turned = matmul(vt, swap_last_two(vt_grad));
    const Var scaled = skew(turned) * reciprocal_square_gaps(s);
    inner = sum_of(inner, scaled * column);
    if (columns > rows) {
      const Var orthogonal = (vt_grad - matmul(swap_last_two(turned), vt)) / column;
      beside = sum_of(beside, matmul(u, orthogonal));
    }
  }
  const Var left = matmul(u, inner);
  return {sum_of(matmul(left, vt), beside)};
}

// With P = Uᵀ Ȧ V: ṡ = diag(P), U̇ = U (F ∘ (P S + S Pᵀ)) + (I - U Uᵀ) Ȧ V S⁻¹, V̇ likewise.
std::vector<Var> jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var(), Var()};
  const Var &u = rule.out[0], &s = rule.out[1], &vt = rule.out[2], &a_tangent = rule.seed[0];
  const Shape& shape = rule.in[0].shape();
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape.back();
  const Var row = as_row(s), column = as_column(s);
  const Var on_right = matmul(a_tangent, swap_last_two(vt)), on_left = matmul(swap_last_two(u), a_tangent);
  const Var p = matmul(swap_last_two(u), on_right), gaps = reciprocal_square_gaps(s);
  const Var p_row = p * row, p_column = p * column;
  const Var u_turn = (p_row + swap_last_two(p_row)) * gaps;
  const Var v_turn = (p_column + swap_last_two(p_column)) * gaps;
  Var u_tangent = matmul(u, u_turn), vt_tangent = matmul(swap_last_two(v_turn), vt);
  if (rows > columns) u_tangent = u_tangent + (on_right - matmul(u, p)) / row;
  if (columns > rows) vt_tangent = vt_tangent + (on_left - matmul(p, vt)) / column;
  return {u_tangent, main_diagonal(p), vt_tangent};
}

std::vector<Sample> samples() {
  const auto matrices = [](const Shape& shape) {
    return Sample{.in = {{.type = {DType::f64, shape}}}, .tolerance = 100};
  };
  return {matrices({1, 1}), matrices({3, 3}),    matrices({4, 2}),   matrices({2, 3}),
          matrices({0, 3}), matrices({2, 2, 2}), matrices({0, 3, 2})};
}

}  // namespace

const Op op::svd = {
    .name = "svd",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = 3,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .fails = [](const Call&) { return Failure{Fails::late}; },  // found out half-way
    .samples = samples,
};

SvdFactors svd(const Var& a) {
  const std::vector<Var> results = a.builder().call(op::svd, {&a, 1});
  return {results[0], results[1], results[2]};
}

}  // namespace tidemark
