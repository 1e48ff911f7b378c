#include <fmt/format.h>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void require_indices_fit(const Call& call, std::int64_t axis) {
  const Shape &x = call.in[0].shape, &indices = call.in[1].shape;
  require_axis(call, axis, x.rank());
  require_index_dtype(call, 1);
  bool fits = x.rank() == indices.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == axis || x[i] == indices[i];
  if (fits) return;
  fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: indices of shape {} into {}", call.op->name,
                                                       to_string(indices), to_string(x)),
                                   .expected = fmt::format("equal sizes along every axis but {}", axis),
                                   .where = call.where,
                                   .help = "to select whole slices, use take"});
}

std::vector<Type> infer_gather(const Call& call) {
  require_operands(call, 2);
  require_indices_fit(call, call.attrs_as<AxisAttrs>().axis);
  return {{call.in[0].dtype, call.in[1].shape}};
}

std::vector<Type> infer_scatter_add(const Call& call) {
  require_operands(call, 3);
  require_data_dtype(call, 0);
  require_same_dtype(call, 0, 2);
  require_indices_fit(call, call.attrs_as<AxisAttrs>().axis);
  if (call.in[2].shape != call.in[1].shape) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("scatter_add: updates of shape {} for indices of shape {}",
                              to_string(call.in[2].shape), to_string(call.in[1].shape)),
          .expected = "equal shapes",
          .where = call.where});
  }
  return {call.in[0]};
}

int axis_of(const RuleCall& rule) { return static_cast<int>(rule.call.attrs_as<AxisAttrs>().axis); }

std::vector<Var> gather_vjp(const RuleCall& rule) {
  return {scatter_add(zeros_like(rule.in[0]), rule.in[1], rule.seed[0], axis_of(rule)), Var()};
}
std::vector<Var> gather_jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  return {gather(rule.seed[0], rule.in[1], axis_of(rule))};
}
std::vector<Var> scatter_add_vjp(const RuleCall& rule) {
  return {rule.seed[0], Var(), rule.wants(2) ? gather(rule.seed[0], rule.in[1], axis_of(rule)) : Var()};
}
std::vector<Var> scatter_add_jvp(const RuleCall& rule) {
  if (!rule.seed[2]) return {rule.seed[0]};
  const Var x = rule.seed[0] ? rule.seed[0] : zeros_like(rule.in[0]);
  return {scatter_add(x, rule.in[1], rule.seed[2], axis_of(rule))};
}

Failure failure(const Call& call) {
  const auto axis = static_cast<int>(call.attrs_as<AxisAttrs>().axis);
  return {Fails::early, IndexCheck{.operand = 1, .bound = call.in[0].shape[axis]}};
}

std::vector<Sample> gather_samples() {
  return {{.in = {{.type = {DType::f64, {3, 4}}}, {.type = {DType::i64, {3, 2}}, .low = 0, .high = 3}},
           .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {2, 3, 2}}}, {.type = {DType::i32, {2, 5, 2}}, .low = 0, .high = 2}},
           .attrs = pack(AxisAttrs{1})},
          {.in = {{.type = {DType::f64, {5}}}, {.type = {DType::i64, {0}}, .low = 0, .high = 4}},
           .attrs = pack(AxisAttrs{0})}};
}
std::vector<Sample> scatter_add_samples() {
  std::vector<Sample> list = gather_samples();
  for (Sample& sample : list) sample.in.push_back({.type = {DType::f64, sample.in[1].type.shape}});
  return list;
}

}  // namespace

const Op op::gather = {
    .name = "gather",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<AxisAttrs>,
    .infer = infer_gather,
    .vjp = gather_vjp,
    .jvp = gather_jvp,
    .fails = failure,
    .samples = gather_samples,
};

const Op op::scatter_add = {
    .name = "scatter_add",
    .kind = OpKind::composite,
    .dtypes = numbers,
    .schema = &schema_of<AxisAttrs>,
    .infer = infer_scatter_add,
    .vjp = scatter_add_vjp,
    .jvp = scatter_add_jvp,
    .fails = failure,
    .samples = scatter_add_samples,
};

Var gather(const Var& x, const Var& indices, int axis) {
  return x.builder().call1(op::gather, {x, indices}, pack(AxisAttrs{axis}));
}
Var scatter_add(const Var& x, const Var& indices, const Var& updates, int axis) {
  return x.builder().call1(op::scatter_add, {x, indices, updates}, pack(AxisAttrs{axis}));
}

}  // namespace tidemark
