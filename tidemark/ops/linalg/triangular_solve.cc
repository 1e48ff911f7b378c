#include "tidemark/ops/linalg/triangular_solve.h"

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
  return infer_system(call, call.attrs_as<TriangularSolveAttrs>().left);
}

// The part of a matrix that the op reads.
Var triangle(const Var& x, const TriangularSolveAttrs& attrs) {
  return attrs.lower ? tril(x, attrs.unit ? -1 : 0) : triu(x, attrs.unit ? 1 : 0);
}

// With x op(A) = b on either side: b̄ = x̄ through op(A)⁻ᵀ, and Ā the triangle of -b̄ xᵀ (or its mirror
// images).
std::vector<Var> vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  const auto attrs = rule.call.attrs_as<TriangularSolveAttrs>();
  const Var &a = rule.in[0], &x = rule.out[0];
  TriangularSolveAttrs adjoint = attrs;
  adjoint.transpose = !attrs.transpose;
  const Var b_grad = triangular_solve(a, rule.seed[0], adjoint);
  if (!rule.wants(0)) return {Var(), b_grad};
  // The gradient of op(A) is -b̄ xᵀ on the left and -xᵀ b̄ on the right; that of A is its transpose when op
  // transposes.
  const Var &first = attrs.transpose ? x : b_grad, &second = attrs.transpose ? b_grad : x;
  const Var outer = attrs.left ? matmul(first, swap_last_two(second)) : matmul(swap_last_two(second), first);
  return {triangle(-outer, attrs), b_grad};
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<TriangularSolveAttrs>();
  Var right = rule.seed[1];
  if (rule.seed[0]) {
    Var moved = triangle(rule.seed[0], attrs);
    if (attrs.transpose) moved = swap_last_two(moved);
    right = sum_of(right, -(attrs.left ? matmul(moved, rule.out[0]) : matmul(rule.out[0], moved)));
  }
  return {right ? triangular_solve(rule.in[0], right, attrs) : Var()};
}

// For a zero on the diagonal.
Failure failure(const Call& call) {
  return {call.attrs_as<TriangularSolveAttrs>().unit ? Fails::never : Fails::early};
}

std::vector<Sample> samples() {
  std::vector<Sample> list;
  for (int form = 0; form < 16; ++form) {
    const TriangularSolveAttrs attrs{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0};
    const Shape b = attrs.left ? Shape{2, 3, 2} : Shape{2, 2, 3};
    list.push_back({.in = {{.type = {DType::f64, {2, 3, 3}}, .low = -1, .high = 1, .diagonal = 3},
                           {.type = {DType::f64, b}}},
                    .attrs = pack(attrs),
                    .tolerance = 10});
  }
  return list;
}

Var with_leading(const Var& x, const Shape& lead) {
  Shape shape = lead;
  for (int i = std::max(x.shape().rank() - 2, 0); i < x.shape().rank(); ++i) shape.push_back(x.shape()[i]);
  return broadcast(x, shape);
}

}  // namespace

const Op op::triangular_solve = {
    .name = "triangular_solve",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .schema = &schema_of<TriangularSolveAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .fails = failure,
    .samples = samples,
};

Var triangular_solve(const Var& a, const Var& b, const TriangularSolveAttrs& attrs) {
  const System system = broadcast_system(a, b);
  return a.builder().call1(op::triangular_solve, {system.a, system.b}, pack(attrs));
}

std::vector<Type> infer_system(const Call& call, bool left) {
  require_operands(call, 2);
  require_data_dtype(call, 0);
  require_same_dtype(call, 0, 1);
  require_square(call, 0);
  const Shape &a = call.in[0].shape, &b = call.in[1].shape;
  const std::int64_t n = a.back();
  if (b.rank() != a.rank() || leading_shape(a) != leading_shape(b) || b[b.rank() - (left ? 2 : 1)] != n) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: a matrix {} and a right-hand side {}",
                                                         call.op->name, to_string(a), to_string(b)),
                                     .expected = left ? "(…, n, n) and (…, n, m)" : "(…, n, n) and (…, m, n)",
                                     .where = call.where});
  }
  return {call.in[1]};
}

System broadcast_system(const Var& a, const Var& b) {
  const Shape from_a = leading_shape(a.shape()), from_b = leading_shape(b.shape());
  if (from_a == from_b) return {a, b};
  Shape lead = Shape::filled(std::max(from_a.rank(), from_b.rank()), 1);
  for (int i = 0; i < lead.rank(); ++i) {
    const int ia = i - (lead.rank() - from_a.rank()), ib = i - (lead.rank() - from_b.rank());
    const std::int64_t size_a = ia < 0 ? 1 : from_a[ia], size_b = ib < 0 ? 1 : from_b[ib];
    lead[i] = size_a == 1 ? size_b : size_a;  // an empty batch stays empty
  }
  return {with_leading(a, lead), with_leading(b, lead)};
}

}  // namespace tidemark
