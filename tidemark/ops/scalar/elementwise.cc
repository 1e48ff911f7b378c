#include "tidemark/ops/scalar/elementwise.h"

#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/scalar_math.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

using formula::HasExactRule, formula::HasKinkAtZero, formula::HasPulls, formula::HasSlope,
    formula::YieldsBool;

DType sample_dtype(DTypeSet set) { return set.bits == booleans.bits ? DType::boolean : DType::f64; }

// What does not ask how many operands there are.
template <class Row>
constexpr Op plain_op(std::string_view name, bool smooth) {
  return {.name = name,
          .kind = OpKind::elementwise,
          .derivative = smooth ? Derivative::rule : Derivative::zero,
          .dtypes = Row::dtypes,
          .tolerant = smooth && !HasExactRule<typename Row::F>};
}

// ---- one operand

template <class Row>
std::vector<Type> infer_unary(const Call& call) {
  require_operands(call, 1);
  require_dtype(call, 0, Row::dtypes);
  return {call.in[0]};
}

// The adjoint and the tangent of a diagonal Jacobian are the same product.
template <class Row>
std::vector<Var> pull_unary(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  return {formula::pull<typename Row::F>(rule.seed[0], rule.in[0], rule.out[0])};
}

template <class Row>
std::vector<Sample> unary_samples() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}, Shape{2, 1, 3}}) {
    list.push_back({.in = {{.type = {sample_dtype(Row::dtypes), shape},
                            .low = Row::low,
                            .high = Row::high,
                            .nonzero = HasKinkAtZero<typename Row::F>}},
                    .smooth = HasSlope<typename Row::F>});
  }
  return list;
}

template <class Row>
constexpr Op unary_op(std::string_view name) {
  constexpr bool smooth = HasSlope<typename Row::F>;
  Op op = plain_op<Row>(name, smooth);
  op.infer = infer_unary<Row>;
  op.samples = unary_samples<Row>;
  if constexpr (smooth) op.vjp = op.jvp = pull_unary<Row>;
  return op;
}

// ---- two operands

template <class Row>
std::vector<Type> infer_binary(const Call& call) {
  require_operands(call, 2);
  require_dtype(call, 0, Row::dtypes);
  require_dtype(call, 1, Row::dtypes);
  require_same_dtype(call, 0, 1);
  const DType dtype = YieldsBool<typename Row::F> ? DType::boolean : call.in[0].dtype;
  return {{dtype, broadcast_shapes(call, call.in[0].shape, call.in[1].shape)}};
}

template <class Row>
std::vector<Var> vjp_binary(const RuleCall& rule) {
  using F = typename Row::F;
  const Var &g = rule.seed[0], &x = rule.in[0], &y = rule.in[1], &z = rule.out[0];
  std::vector<Var> gradients(2);
  if (!g) return gradients;
  if (rule.wants(0)) gradients[0] = sum_to(F::pull_x(g, x, y, z), x.shape());
  if (rule.wants(1)) gradients[1] = sum_to(F::pull_y(g, x, y, z), y.shape());
  return gradients;
}

template <class Row>
std::vector<Var> jvp_binary(const RuleCall& rule) {
  using F = typename Row::F;
  const Var &tx = rule.seed[0], &ty = rule.seed[1], &x = rule.in[0], &y = rule.in[1], &z = rule.out[0];
  const Var from_x = tx ? F::pull_x(tx, x, y, z) : Var(), from_y = ty ? F::pull_y(ty, x, y, z) : Var();
  const Var tangent = sum_of(from_x, from_y);
  return {tangent ? broadcast(tangent, z.shape()) : Var()};
}

template <class Row>
std::vector<Sample> binary_samples() {
  const DType dtype = sample_dtype(Row::dtypes);
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}},       {{2, 1}, {1, 3}},
                                            {{}, {4}},        {{3, 1, 2}, {4, 1}}, {{}, {}}};
  std::vector<Sample> list;
  for (const auto& [a, b] : shapes) {
    list.push_back({.in = {{.type = {dtype, a}, .low = Row::x_low, .high = Row::x_high},
                           {.type = {dtype, b}, .low = Row::y_low, .high = Row::y_high}},
                    .smooth = HasPulls<typename Row::F>});
  }
  return list;
}

template <class Row>
constexpr Op binary_op(std::string_view name) {
  constexpr bool smooth = HasPulls<typename Row::F>;
  Op op = plain_op<Row>(name, smooth);
  op.infer = infer_binary<Row>;
  op.samples = binary_samples<Row>;
  if constexpr (smooth) {
    op.vjp = vjp_binary<Row>;
    op.jvp = jvp_binary<Row>;
  }
  return op;
}

// ---- the rows

#define TM_UNARY(name, Formula, family, dtype_set, flops, low_bound, high_bound) \
  struct name##_row {                                                            \
    using F = formula::Formula;                                                  \
    static constexpr DTypeSet dtypes = dtype_set;                                \
    static constexpr double low = low_bound, high = high_bound;                  \
  };
#define TM_BINARY(name, Formula, family, dtype_set, flops, x0, x1, y0, y1)    \
  struct name##_row {                                                         \
    using F = formula::Formula;                                               \
    static constexpr DTypeSet dtypes = dtype_set;                             \
    static constexpr double x_low = x0, x_high = x1, y_low = y0, y_high = y1; \
  };
#include "tidemark/ops/scalar/elementwise.def"

}  // namespace

#define TM_UNARY(name, ...)                            \
  constexpr Op op::name = unary_op<name##_row>(#name); \
  Var name(const Var& x) { return x.builder().call1(op::name, {x}); }
#define TM_BINARY(name, ...)                            \
  constexpr Op op::name = binary_op<name##_row>(#name); \
  Var name(const Var& x, const Var& y) { return x.builder().call1(op::name, {x, y}); }
#include "tidemark/ops/scalar/elementwise.def"

Shape broadcast_shapes(const Call& call, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const int offset = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const std::int64_t m = longer[offset + i], n = shorter[i];
    if (m != n && m != 1 && n != 1) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("{}: shapes {} and {} do not broadcast", call.op->name, to_string(a),
                                to_string(b)),
            .expected = "equal sizes, or 1, in every dimension counted from the last",
            .where = call.where,
            .help =
                fmt::format("sizes {} and {} meet in dimension {} from the end", m, n, shorter.rank() - i)});
    }
    if (m == 1) out[offset + i] = n;
  }
  return out;
}

Var normal_distribution(const Var& x) { return (erf(x * (std::numbers::sqrt2 / 2)) + 1) * 0.5; }
Var normal_density(const Var& x) {
  return exp(x * x * -0.5) * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
}

Var sum_of(const Var& a, const Var& b) {
  if (!a) return b;
  if (!b) return a;
  return add(a, b);
}

}  // namespace tidemark
