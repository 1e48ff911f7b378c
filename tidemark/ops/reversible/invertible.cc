#include "tidemark/ops/reversible/invertible.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/triangular_solve.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {

double unit_rounding(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

namespace {

void require_gain(const Call& call, double gain) {
  if (gain >= 1 && std::isfinite(gain)) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: a gain of {}", call.op->name, gain),
                                  .expected = "a finite number, 1 or more",
                                  .where = call.where,
                                  .help = "it says how much an error may grow when the call is undone"});
}

// ---- x·s + t

std::vector<Type> scale_shift_infer(const Call& call) {
  require_operands(call, 3);
  require_data_dtype(call, 0);
  for (const int other : {1, 2}) {
    require_same_dtype(call, 0, other);
    const auto o = static_cast<std::size_t>(other);
    if (call.in[0].shape == call.in[o].shape) continue;
    fail(
        ErrorCode::shape_mismatch,
        {.what = fmt::format("{}: shapes {} and {}", call.op->name, to_string(call.in[0].shape),
                             to_string(call.in[o].shape)),
         .expected = "three of the same shape",
         .where = call.where,
         .help = "a coupling scales and shifts one half by what it makes of the other: one number for each"});
  }
  require_gain(call, call.attrs_as<ScaleShiftAttrs>().gain);
  return {call.in[0]};
}

std::vector<Var> scale_shift_expand(const RuleCall& rule) {
  const Var scaled = rule.in[0] * rule.in[1];
  return {scaled + rule.in[2]};
}
std::vector<Var> scale_shift_vjp(const RuleCall& rule) {
  const Var& g = rule.seed[0];
  std::vector<Var> gradients(3);
  if (!g) return gradients;
  if (rule.wants(0)) gradients[0] = g * rule.in[1];
  if (rule.wants(1)) gradients[1] = g * rule.in[0];
  gradients[2] = g;
  return gradients;
}
std::vector<Var> scale_shift_jvp(const RuleCall& rule) {
  const Var of_x = rule.seed[0] ? rule.seed[0] * rule.in[1] : Var();
  const Var of_scale = rule.seed[1] ? rule.in[0] * rule.seed[1] : Var();
  const Var scaled = sum_of(of_x, of_scale);
  return {sum_of(scaled, rule.seed[2])};
}
Var scale_shift_inverse(const RuleCall& rule, int) {
  const Var scaled = rule.out[0] - rule.in[2];
  return scaled / rule.in[1];
}
bool scale_shift_invertible(const Graph&, const Node&, int operand) { return operand == 0; }
Conditioning scale_shift_conditioning(const Call& call) {
  const double gain = call.attrs_as<ScaleShiftAttrs>().gain;
  // The product, the sum, the difference, the quotient.
  return {.gain = gain, .rounding = 4 * unit_rounding(call.in[0].dtype) * gain};
}
std::vector<Sample> scale_shift_samples() {
  std::vector<Sample> list;
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 2}}) {
    const Type type{DType::f64, shape};
    list.push_back({.in = {{.type = type}, {.type = type, .low = 0.5, .high = 2}, {.type = type}},
                    .attrs = pack(ScaleShiftAttrs{2})});
  }
  return list;
}

// ---- leaky ReLU

std::vector<Type> leaky_infer(const Call& call) {
  require_operands(call, 1);
  require_data_dtype(call, 0);
  const double slope = call.attrs_as<LeakyReluAttrs>().slope;
  if (slope > 0 && std::isfinite(slope)) return {call.in[0]};
  fail(ErrorCode::bad_attribute, {.what = fmt::format("leaky_relu: a slope of {}", slope),
                                  .expected = "a finite number above 0",
                                  .where = call.where,
                                  .help = "relu has the slope 0"});
}

// `a` where `y` is positive, else as `slope` says. y > 0 exactly where x > 0, so the result tells.
Var by_sign(const Var& y, const Var& a, const Var& otherwise) {
  const Var zero = constant_like(y, 0);
  return select(greater(y, zero), a, otherwise);
}
std::vector<Var> leaky_expand(const RuleCall& rule) {
  const Var& x = rule.in[0];
  return {by_sign(x, x, x * rule.call.attrs_as<LeakyReluAttrs>().slope)};
}
std::vector<Var> leaky_pull(const RuleCall& rule) {
  const Var& g = rule.seed[0];
  if (!g) return {Var()};
  return {by_sign(rule.out[0], g, g * rule.call.attrs_as<LeakyReluAttrs>().slope)};
}
Var leaky_inverse(const RuleCall& rule, int) {
  const Var& y = rule.out[0];
  return by_sign(y, y, y / rule.call.attrs_as<LeakyReluAttrs>().slope);
}
Conditioning leaky_conditioning(const Call& call) {
  const double gain = std::max(1.0, 1 / call.attrs_as<LeakyReluAttrs>().slope);
  return {.gain = gain, .rounding = 2 * unit_rounding(call.in[0].dtype) * gain};
}
std::vector<Sample> leaky_samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}, .nonzero = true}}, .attrs = pack(LeakyReluAttrs{0.1})},
          {.in = {{.type = {DType::f64, {}}, .nonzero = true}}, .attrs = pack(LeakyReluAttrs{2})},
          {.in = {{.type = {DType::f64, {0, 2}}}}, .attrs = pack(LeakyReluAttrs{})}};
}

// ---- products with a matrix that has an inverse

SquareMatrix kind_of(const Call& call) {
  return static_cast<SquareMatrix>(call.attrs_as<InvertibleProductAttrs>().kind);
}

std::vector<Type> product_infer(const Call& call) {
  require_operands(call, 2);
  require_data_dtype(call, 0);
  require_same_dtype(call, 0, 1);
  const auto attrs = call.attrs_as<InvertibleProductAttrs>();
  if (attrs.kind < 0 || attrs.kind > static_cast<std::int64_t>(SquareMatrix::upper))
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: kind {}", call.op->name, attrs.kind),
                                    .expected = "0 (orthogonal), 1 (lower) or 2 (upper)",
                                    .where = call.where});
  require_gain(call, attrs.gain);
  const Shape &x = call.in[0].shape, &a = call.in[1].shape;
  const bool square = a.rank() == 2 && a[0] == a[1];
  if (!square || x.rank() < 1 || x.back() != a[0])
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: shapes {} and {}", call.op->name, to_string(x), to_string(a)),
          .expected = "a square matrix, of the size of the last dimension",
          .where = call.where});
  return {call.in[0]};
}

// What counts of a matrix.
Var part_of(const Var& matrix, SquareMatrix kind) {
  if (kind == SquareMatrix::lower) return tril(matrix);
  if (kind == SquareMatrix::upper) return triu(matrix);
  return matrix;
}
std::vector<Var> product_expand(const RuleCall& rule) {
  const Var matrix = part_of(rule.in[1], kind_of(rule.call));
  return {matmul(rule.in[0], matrix)};
}
std::vector<Var> product_vjp(const RuleCall& rule) {
  const Var& g = rule.seed[0];
  std::vector<Var> gradients(2);
  if (!g) return gradients;
  const SquareMatrix kind = kind_of(rule.call);
  if (rule.wants(0)) {
    const Var turned = transpose(part_of(rule.in[1], kind), {1, 0});
    gradients[0] = matmul(g, turned);
  }
  if (rule.wants(1)) {
    Dims rows;
    for (int d = 0; d + 1 < g.shape().rank(); ++d) rows.push_back(d);
    const Var whole = contract(
        rule.in[0], g, {.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = rows, .rhs_contract = rows});
    gradients[1] = part_of(whole, kind);
  }
  return gradients;
}
std::vector<Var> product_jvp(const RuleCall& rule) {
  const SquareMatrix kind = kind_of(rule.call);
  Var of_x, of_matrix;
  if (rule.seed[0]) {
    const Var matrix = part_of(rule.in[1], kind);
    of_x = matmul(rule.seed[0], matrix);
  }
  if (rule.seed[1]) {
    const Var matrix = part_of(rule.seed[1], kind);
    of_matrix = matmul(rule.in[0], matrix);
  }
  return {sum_of(of_x, of_matrix)};
}
Var product_inverse(const RuleCall& rule, int) {
  const SquareMatrix kind = kind_of(rule.call);
  const Var &y = rule.out[0], &matrix = rule.in[1];
  if (kind == SquareMatrix::orthogonal) {
    const Var turned = transpose(matrix, {1, 0});
    return matmul(y, turned);
  }
  const Shape shape = y.shape();
  const Var rows =
      reshape(y, Shape{y.type().count() / std::max<std::int64_t>(1, shape.back()), shape.back()});
  const TriangularSolveAttrs attrs{.left = false, .lower = kind == SquareMatrix::lower};
  return reshape(triangular_solve(matrix, rows, attrs), shape);
}
// Systems are solved in f32 and f64 alone.
bool product_invertible(const Graph& graph, const Node& node, int operand) {
  const bool orthogonal = kind_of(NodeCall(graph, node)) == SquareMatrix::orthogonal;
  return operand == 0 && (orthogonal || wide_floats.contains(graph.type(node.operands[0]).dtype));
}
Conditioning product_conditioning(const Call& call) {
  const double gain = call.attrs_as<InvertibleProductAttrs>().gain;
  const auto terms = static_cast<double>(call.in[1].shape[0]);
  // So many are added up, twice.
  return {.gain = gain, .rounding = 4 * terms * unit_rounding(call.in[0].dtype) * gain};
}
std::vector<Sample> product_samples() {
  std::vector<Sample> list;
  for (const SquareMatrix kind : {SquareMatrix::lower, SquareMatrix::upper}) {
    for (const Shape& shape : {Shape{5, 3}, Shape{2, 2, 3}, Shape{3}}) {
      list.push_back(
          {.in = {{.type = {DType::f64, shape}},
                  {.type = {DType::f64, {3, 3}}, .low = -0.5, .high = 0.5, .diagonal = 1.5}},
           .attrs = pack(InvertibleProductAttrs{.kind = static_cast<std::int64_t>(kind), .gain = 4})});
    }
  }
  return list;
}

// ---- what was computed back

std::vector<Type> undone_infer(const Call& call) {
  require_operands(call, 1);
  return {call.in[0]};
}
std::vector<Var> undone_pass_on(const RuleCall& rule) { return {rule.seed[0]}; }
std::optional<ViewSpec> undone_view(const Call& call, int) {
  return ViewSpec{.strides = operand_strides(call, 0)};
}
std::vector<Sample> undone_samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}}}, {.in = {{.type = {DType::f64, {}}}}}};
}

}  // namespace

const Op op::scale_shift = {
    .name = "scale_shift",
    .dtypes = floats,
    .schema = &schema_of<ScaleShiftAttrs>,
    .infer = scale_shift_infer,
    .vjp = scale_shift_vjp,
    .jvp = scale_shift_jvp,
    .expand = scale_shift_expand,
    .inverse = scale_shift_inverse,
    .invertible = scale_shift_invertible,
    .conditioning = scale_shift_conditioning,
    .tolerant = true,
    .samples = scale_shift_samples,
};
const Op op::leaky_relu = {
    .name = "leaky_relu",
    .dtypes = floats,
    .schema = &schema_of<LeakyReluAttrs>,
    .infer = leaky_infer,
    .vjp = leaky_pull,
    .jvp = leaky_pull,
    .expand = leaky_expand,
    .inverse = leaky_inverse,
    .conditioning = leaky_conditioning,
    .tolerant = true,
    .samples = leaky_samples,
};
const Op op::invertible_product = {
    .name = "invertible_product",
    .dtypes = floats,
    .schema = &schema_of<InvertibleProductAttrs>,
    .infer = product_infer,
    .vjp = product_vjp,
    .jvp = product_jvp,
    .expand = product_expand,
    .inverse = product_inverse,
    .invertible = product_invertible,
    .conditioning = product_conditioning,
    .tolerant = true,
    .samples = product_samples,
};
const Op op::undone = {
    .name = "undone",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .infer = undone_infer,
    .vjp = undone_pass_on,
    .jvp = undone_pass_on,
    .undoes = true,
    .view = undone_view,
    .samples = undone_samples,
};

Var scale_shift(const Var& x, const Var& scale, const Var& shift, double gain) {
  return x.builder().call1(op::scale_shift, {x, scale, shift}, pack(ScaleShiftAttrs{gain}));
}
Var leaky_relu(const Var& x, double slope) {
  return x.builder().call1(op::leaky_relu, {x}, pack(LeakyReluAttrs{slope}));
}
Var invertible_product(const Var& x, const Var& matrix, SquareMatrix kind, double gain) {
  return x.builder().call1(
      op::invertible_product, {x, matrix},
      pack(InvertibleProductAttrs{.kind = static_cast<std::int64_t>(kind), .gain = gain}));
}
Var undone(const Var& x) { return x.builder().call1(op::undone, {x}); }

}  // namespace tidemark
