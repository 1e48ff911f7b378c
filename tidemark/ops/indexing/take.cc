#include <fmt/format.h>

#include "tidemark/ir/failure.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer_take(const Call& call) {
  require_operands(call, 2);
  require_index_dtype(call, 1);
  const Shape &x = call.in[0].shape, &indices = call.in[1].shape;
  const std::int64_t axis = call.attrs_as<TakeAttrs>().axis;
  require_axis(call, axis, x.rank());
  if (x.rank() - 1 + indices.rank() > max_rank) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("take: {} by indices {} has rank {}", to_string(x),
                                                         to_string(indices), x.rank() - 1 + indices.rank()),
                                     .expected = fmt::format("a result of at most {} dimensions", max_rank),
                                     .where = call.where});
  }
  Shape to;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      to.push_back(x[i]);
    } else {
      for (std::int64_t size : indices) to.push_back(size);
    }
  }
  return {{call.in[0].dtype, to}};
}

std::vector<Type> infer_take_add(const Call& call) {
  if (call.in.size() != 2 && call.in.size() != 3) {
    fail(ErrorCode::wrong_operand_count, {.what = fmt::format("take_add: {} operands", call.in.size()),
                                          .expected = "2, or 3 with what the updates are added to",
                                          .where = call.where});
  }
  require_data_dtype(call, 0);
  require_index_dtype(call, 1);
  const Shape &updates = call.in[0].shape, &indices = call.in[1].shape;
  const auto attrs = call.attrs_as<TakeAddAttrs>();
  const int rank = updates.rank() - indices.rank() + 1;
  require_axis(call, attrs.axis, rank);
  const auto axis = static_cast<int>(attrs.axis);
  bool fits = attrs.axis_size >= 0;
  for (int i = 0; fits && i < indices.rank(); ++i) fits = updates[axis + i] == indices[i];
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("take_add: updates {} for indices {} at axis {}", to_string(updates),
                              to_string(indices), axis),
          .expected = "the indices' sizes within the updates' shape, from the axis on",
          .where = call.where});
  }
  Shape to;
  for (int i = 0; i < axis; ++i) to.push_back(updates[i]);
  to.push_back(attrs.axis_size);
  for (int i = axis + indices.rank(); i < updates.rank(); ++i) to.push_back(updates[i]);
  const Type result{call.in[0].dtype, to};
  if (call.in.size() == 3 && call.in[2] != result) {
    fail(call.in[2].dtype != result.dtype ? ErrorCode::dtype_mismatch : ErrorCode::shape_mismatch,
         {.what = fmt::format("take_add: the sums are {}, what they are added to is {}", to_string(result),
                              to_string(call.in[2])),
          .expected = "equal types",
          .where = call.where});
  }
  return {result};
}

std::vector<Var> take_vjp(const RuleCall& rule) {
  const auto axis = static_cast<int>(rule.call.attrs_as<TakeAttrs>().axis);
  return {take_add(rule.seed[0], rule.in[1], axis, rule.in[0].shape()[axis]), Var()};
}
std::vector<Var> take_jvp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  return {take(rule.seed[0], rule.in[1], static_cast<int>(rule.call.attrs_as<TakeAttrs>().axis))};
}
std::vector<Var> take_add_vjp(const RuleCall& rule) {
  std::vector<Var> gradients(rule.in.size());
  if (!rule.seed[0]) return gradients;
  gradients[0] = take(rule.seed[0], rule.in[1], static_cast<int>(rule.call.attrs_as<TakeAddAttrs>().axis));
  if (rule.in.size() == 3) gradients[2] = rule.seed[0];
  return gradients;
}
std::vector<Var> take_add_jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<TakeAddAttrs>();
  const Var sums = rule.seed[0]
                       ? take_add(rule.seed[0], rule.in[1], static_cast<int>(attrs.axis), attrs.axis_size)
                       : Var();
  return {rule.in.size() == 3 ? sum_of(rule.seed[2], sums) : sums};
}

Failure take_failure(const Call& call) {
  const auto axis = static_cast<int>(call.attrs_as<TakeAttrs>().axis);
  return {Fails::early, IndexCheck{.operand = 1, .bound = call.in[0].shape[axis]}};
}
Failure take_add_failure(const Call& call) {
  return {Fails::early, IndexCheck{.operand = 1, .bound = call.attrs_as<TakeAddAttrs>().axis_size}};
}

std::vector<Sample> take_samples() {
  return {{.in = {{.type = {DType::f64, {5, 3}}}, {.type = {DType::i64, {4}}, .low = 0, .high = 4}},
           .attrs = pack(TakeAttrs{0})},
          {.in = {{.type = {DType::f64, {2, 4, 3}}}, {.type = {DType::i32, {2, 2}}, .low = 0, .high = 3}},
           .attrs = pack(TakeAttrs{1, "the place"})},
          {.in = {{.type = {DType::f64, {4}}}, {.type = {DType::i64, {}}, .low = 0, .high = 3}},
           .attrs = pack(TakeAttrs{0})}};
}
std::vector<Sample> take_add_samples() {
  return {{.in = {{.type = {DType::f64, {4, 3}}}, {.type = {DType::i64, {4}}, .low = 0, .high = 2}},
           .attrs = pack(TakeAddAttrs{0, 3})},
          {.in = {{.type = {DType::f64, {2, 2, 3, 2}}}, {.type = {DType::i32, {2, 3}}, .low = 0, .high = 3}},
           .attrs = pack(TakeAddAttrs{1, 4})},
          {.in = {{.type = {DType::f64, {}}}, {.type = {DType::i64, {}}, .low = 0, .high = 3}},
           .attrs = pack(TakeAddAttrs{0, 4})},
          {.in = {{.type = {DType::f64, {4, 3}}},
                  {.type = {DType::i64, {4}}, .low = 0, .high = 2},
                  {.type = {DType::f64, {3, 3}}}},
           .attrs = pack(TakeAddAttrs{0, 3})},
          {.in = {{.type = {DType::f64, {2, 2, 3, 2}}},
                  {.type = {DType::i32, {2, 3}}, .low = 0, .high = 3},
                  {.type = {DType::f64, {2, 4, 2}}}},
           .attrs = pack(TakeAddAttrs{1, 4})}};
}

}  // namespace

const Op op::take = {
    .name = "take",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<TakeAttrs>,
    .infer = infer_take,
    .vjp = take_vjp,
    .jvp = take_jvp,
    .fails = take_failure,
    .samples = take_samples,
};

const Op op::take_add = {
    .name = "take_add",
    .kind = OpKind::composite,
    .dtypes = numbers,
    .schema = &schema_of<TakeAddAttrs>,
    .infer = infer_take_add,
    .vjp = take_add_vjp,
    .jvp = take_add_jvp,
    .fails = take_add_failure,
    .samples = take_add_samples,
};

Var take(const Var& x, const Var& indices, int axis, std::string what) {
  return x.builder().call1(op::take, {x, indices}, pack(TakeAttrs{axis, std::move(what)}));
}
Var take_add(const Var& updates, const Var& indices, int axis, std::int64_t axis_size) {
  return updates.builder().call1(op::take_add, {updates, indices}, pack(TakeAddAttrs{axis, axis_size}));
}

}  // namespace tidemark
