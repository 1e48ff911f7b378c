#include "tidemark/ops/linalg/qr.h"

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
  require_matrices(call, 0);
  const Type& a = call.in[0];
  Shape r = a.shape;
  std::int64_t& rows = r[a.rank() - 2];
  if (rows < r.back()) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("qr: an operand of shape {}", to_string(a.shape)),
                                     .expected = "at least as many rows as columns",
                                     .where = call.where});
  }
  rows = r.back();
  return {a, {a.dtype, r}};
}

// Ā = (Q̄ + Q sym(M)) R⁻ᵀ with M = R R̄ᵀ - Q̄ᵀ Q and sym(M) the symmetric matrix with M's lower triangle:
// Walter & Lehmann, "Algorithmic differentiation of linear algebra functions" (2010).
std::vector<Var> vjp(const RuleCall& rule) {
  const Var &q = rule.out[0], &r = rule.out[1], &q_grad = rule.seed[0], &r_grad = rule.seed[1];
  if (!q_grad && !r_grad) return {Var()};
  Var m;
  if (r_grad) m = matmul(r, swap_last_two(r_grad));
  if (q_grad) m = sum_of(m, -matmul(swap_last_two(q_grad), q));
  const Var below = tril(m, -1), lower = tril(m);
  const Var mirrored = lower + swap_last_two(below);
  const Var right = sum_of(q_grad, matmul(q, mirrored));
  return {triangular_solve(r, right, {.left = false, .lower = false, .transpose = true})};
}

// With Ȧ R⁻¹ = Q̇ + Q Ṙ R⁻¹, the antisymmetric Ω = Qᵀ Q̇ has the lower triangle of X = Qᵀ Ȧ R⁻¹.
std::vector<Var> jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const Var &q = rule.out[0], &r = rule.out[1];
  const Var moved = triangular_solve(r, rule.seed[0], {.left = false, .lower = false});
  const Var x = matmul(swap_last_two(q), moved);
  const Var below = tril(x, -1);
  const Var omega = below - swap_last_two(below);
  const Var upper = x - omega;
  return {moved - matmul(q, upper), matmul(upper, r)};
}

std::vector<Sample> samples() {
  const auto matrices = [](const Shape& shape) {
    const bool square = shape.back() == shape[shape.rank() - 2];
    return Sample{.in = {{.type = {DType::f64, shape}, .low = -1, .high = 1, .diagonal = square ? 2.0 : 0.0}},
                  .tolerance = 10};
  };
  return {matrices({1, 1}),    matrices({4, 4}), matrices({5, 3}),   matrices({2, 3, 3}),
          matrices({2, 4, 1}), matrices({3, 0}), matrices({0, 3, 2})};
}

}  // namespace

const Op op::qr = {
    .name = "qr",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = 2,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .samples = samples,
};

QrFactors qr(const Var& a) {
  const std::vector<Var> results = a.builder().call(op::qr, {&a, 1});
  return {results[0], results[1]};
}

}  // namespace tidemark
