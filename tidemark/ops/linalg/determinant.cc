#include "tidemark/ops/linalg/determinant.h"

#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/matrices.h"
#include "tidemark/ops/linalg/solve.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void require_one_square(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  require_square(call, 0);
  require_matrices(call, 0);
}
Type number_each(const Type& a) { return {a.dtype, leading_shape(a.shape)}; }

std::vector<Type> infer_det(const Call& call) {
  require_one_square(call);
  return {number_each(call.in[0])};
}
std::vector<Type> infer_cofactors(const Call& call) {
  require_one_square(call);
  return {call.in[0]};
}
std::vector<Type> infer_slogdet(const Call& call) {
  require_one_square(call);
  return {number_each(call.in[0]), number_each(call.in[0])};
}

// A number for each matrix as (…, 1, 1).
Var as_matrix(const Var& x) { return as_column(as_column(x)); }
// Σ a_ij b_ij, as (…, 1, 1).
Var inner_product(const Var& a, const Var& b) {
  const int rank = a.shape().rank();
  return reduce_sum(a * b, {rank - 2, rank - 1}, true);
}
Var as_number(const Var& x) { return reshape(x, leading_shape(x.shape())); }

std::vector<Var> det_vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  const Var scale = as_matrix(rule.seed[0]);
  return {scale * cofactors(rule.in[0])};
}
std::vector<Var> det_jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  return {as_number(inner_product(cofactors(rule.in[0]), rule.seed[0]))};
}

// Ċ = (⟨C, Ȧ⟩ C - C Ȧᵀ C) / det(A), of C = det(A) A⁻ᵀ. As a second derivative of the determinant it is its
// own adjoint.
std::vector<Var> cofactors_rule(const RuleCall& rule) {
  if (!rule.seed[0] || rule.in[0].shape().back() < 2) return {Var()};  // that of a number is 1
  const Var& c = rule.out[0];
  const Var along = inner_product(c, rule.seed[0]) * c;
  const Var turned = matmul(c, swap_last_two(rule.seed[0]));
  const Var change = along - matmul(turned, c);
  return {change / as_matrix(det(rule.in[0]))};
}

// The inverse's transpose is the derivative of log|det|; the sign has none.
std::vector<Var> slogdet_vjp(const RuleCall& rule) {
  if (!rule.seed[1]) return {Var()};
  const Var& a = rule.in[0];
  const Var one = identity_matrix(rule.builder, a.dtype(), a.shape().back());
  const Var scaled = one * as_matrix(rule.seed[1]);
  return {solve(a, scaled, {.transpose = true})};
}
std::vector<Var> slogdet_jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const Var moved = main_diagonal(solve(rule.in[0], rule.seed[0]));
  return {Var(), reduce_sum(moved, {moved.shape().rank() - 1})};
}

std::vector<Sample> samples() {
  const auto regular = [](const Shape& shape) {
    return Sample{.in = {{.type = {DType::f64, shape}, .low = -1, .high = 1, .diagonal = 2}},
                  .tolerance = 10};
  };
  return {regular({1, 1}),    regular({4, 4}), regular({2, 3, 3}), regular({5, 2, 2}),
          regular({0, 3, 3}), regular({0, 0}), regular({3, 0, 0})};
}

}  // namespace

const Op op::det = {
    .name = "det",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .infer = infer_det,
    .vjp = det_vjp,
    .jvp = det_jvp,
    .samples = samples,
};

const Op op::cofactors = {
    .name = "cofactors",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .infer = infer_cofactors,
    .vjp = cofactors_rule,
    .jvp = cofactors_rule,
    .samples = samples,
};

const Op op::slogdet = {
    .name = "slogdet",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = 2,
    .infer = infer_slogdet,
    .vjp = slogdet_vjp,
    .jvp = slogdet_jvp,
    .samples = samples,
};

Var det(const Var& a) { return a.builder().call1(op::det, {a}); }
Var cofactors(const Var& a) { return a.builder().call1(op::cofactors, {a}); }
SignedLog slogdet(const Var& a) {
  const std::vector<Var> results = a.builder().call(op::slogdet, {&a, 1});
  return {results[0], results[1]};
}

}  // namespace tidemark
