#include "tidemark/ops/reversible/couple.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void require_wide(const Call& call) {
  if (call.op->dtypes.contains(call.in[0].dtype)) return;
  fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{}: a half of a reversible block is {}",
                                                       call.op->name, name_of(call.in[0].dtype)),
                                   .expected = "f32 or f64",
                                   .where = call.where,
                                   .help = "keep halves in f32, and cast to 16 bits inside f and g"});
}

void require_grid(const Call& call) {
  // Steps of f32 stay far from where numbers lose digits, 2^-126.
  constexpr double smallest = 0x1p-64, largest = 0x1p100;
  const double range = call.attrs_as<GridAttrs>().range;
  int exponent = 0;
  if (range >= smallest && range <= largest && std::frexp(range, &exponent) == 0.5) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: the range {}", call.op->name, range),
                                  .expected = "a power of two from 2^-64 to 2^100",
                                  .where = call.where,
                                  .help = "values must stay below it; steps are 2^-24 of it"});
}

std::vector<Type> infer_one(const Call& call) {
  require_operands(call, 1);
  require_wide(call);
  require_grid(call);
  return {call.in[0]};
}

std::vector<Type> infer_two(const Call& call) {
  require_operands(call, 2);
  require_wide(call);
  require_same_dtype(call, 0, 1);
  if (call.in[0].shape != call.in[1].shape) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: shapes {} and {}", call.op->name, to_string(call.in[0].shape),
                              to_string(call.in[1].shape)),
          .expected = "the same shape twice",
          .where = call.where,
          .help = "a block adds to one half what it makes of the other: both have one shape"});
  }
  require_grid(call);
  return {call.in[0]};
}

std::vector<Var> pass_on(const RuleCall& rule) { return {rule.seed[0]}; }
std::vector<Var> couple_vjp(const RuleCall& rule) { return {rule.seed[0], rule.seed[0]}; }
std::vector<Var> uncouple_vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var(), Var()};
  return {rule.seed[0], -rule.seed[0]};
}
std::vector<Var> couple_jvp(const RuleCall& rule) { return {sum_of(rule.seed[0], rule.seed[1])}; }
std::vector<Var> uncouple_jvp(const RuleCall& rule) {
  if (!rule.seed[1]) return {rule.seed[0]};
  const Var other = -rule.seed[1];
  return {sum_of(rule.seed[0], other)};
}

// Is every element on the grid? What couple and to_grid make is, and what only moves such values.
bool is_on_grid(const Graph& graph, ValueId v, double range) {
  std::vector<ValueId> asked = {v};
  for (int left = 64; left > 0 && !asked.empty(); --left) {
    const ValueId next = asked.back();
    asked.pop_back();
    if (graph.is_input(next)) return false;
    const Node& node = graph[graph[next].producer];
    if (node.op == &op::to_grid || node.op == &op::couple) {
      if (unpack<GridAttrs>(node.attrs).range != range) return false;
    } else if (node.op->kind == OpKind::movement && node.op->inverse) {
      asked.insert(asked.end(), node.operands.begin(), node.operands.end());
    } else {
      return false;
    }
  }
  return asked.empty();
}
bool grid_invertible(const Graph& graph, const Node& node, int) {
  return is_on_grid(graph, node.operands[0], unpack<GridAttrs>(node.attrs).range);
}
Var grid_inverse(const RuleCall& rule, int) { return rule.out[0]; }
bool couple_invertible(const Graph& graph, const Node& node, int operand) {
  return operand == 0 && grid_invertible(graph, node, operand);
}
Var couple_inverse(const RuleCall& rule, int) {
  return uncouple(rule.out[0], rule.in[1], rule.call.attrs_as<GridAttrs>().range);
}

// These are composite, not elementwise: operands are not broadcast.
// It is not known before the sums are made whether they can be undone.
Failure couple_failure(const Call&) { return {Fails::late}; }

std::vector<Sample> samples_one() {
  return {{.in = {{.type = {DType::f64, {3, 5}}}}, .attrs = pack(GridAttrs{})},
          {.in = {{.type = {DType::f64, {}}}}, .attrs = pack(GridAttrs{4})},
          {.in = {{.type = {DType::f64, {0, 2}}}}, .attrs = pack(GridAttrs{})}};
}
std::vector<Sample> samples_two() {
  std::vector<Sample> list = samples_one();
  for (Sample& sample : list) sample.in.push_back(sample.in.front());
  return list;
}

Var call_two(const Op& op, const Var& a, const Var& b, double range) {
  return a.builder().call1(op, {a, b}, pack(GridAttrs{range}));
}

}  // namespace

const Op op::to_grid = {
    .name = "to_grid",
    .dtypes = wide_floats,
    .schema = &schema_of<GridAttrs>,
    .infer = infer_one,
    .vjp = pass_on,
    .jvp = pass_on,
    .inverse = grid_inverse,
    .invertible = grid_invertible,
    .tolerant = true,
    .samples = samples_one,
};
const Op op::couple = {
    .name = "couple",
    .dtypes = wide_floats,
    .schema = &schema_of<GridAttrs>,
    .infer = infer_two,
    .vjp = couple_vjp,
    .jvp = couple_jvp,
    .inverse = couple_inverse,
    .invertible = couple_invertible,
    .tolerant = true,
    .fails = couple_failure,
    .samples = samples_two,
};
const Op op::uncouple = {
    .name = "uncouple",
    .dtypes = wide_floats,
    .schema = &schema_of<GridAttrs>,
    .infer = infer_two,
    .vjp = uncouple_vjp,
    .jvp = uncouple_jvp,
    .tolerant = true,
    .undoes = true,
    .samples = samples_two,
};

Var to_grid(const Var& x, double range) {
  if (is_on_grid(x.builder().graph(), x.id(), range)) return x;
  return x.builder().call1(op::to_grid, {x}, pack(GridAttrs{range}));
}
Var couple(const Var& x, const Var& t, double range) { return call_two(op::couple, x, t, range); }
Var uncouple(const Var& y, const Var& t, double range) { return call_two(op::uncouple, y, t, range); }

double grid_step(DType dtype, double range) { return range * (dtype == DType::f64 ? 0x1p-53 : 0x1p-24); }

}  // namespace tidemark
