// Rules of ops that compute element by element, move elements, look them up or reduce them.
#include <algorithm>

#include "tidemark/autodiff/vmap/rules.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark::vmap_rule_of {
namespace {

std::vector<Var> all_whole(const VmapCall& call) {
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i) operands.push_back(call.whole(i));
  return operands;
}

// One entry per dimension, of a tensor that has the examples in front.
Dims behind_examples(const Dims& dims, std::int64_t of_examples) {
  Dims all = dims;
  all.insert(0, of_examples);
  return all;
}

// Numbers of dimensions, of such a tensor.
Dims shifted_axes(Dims axes) {
  for (std::int64_t& axis : axes) ++axis;
  return axes;
}

}  // namespace

// Operands broadcast from the last dimension on, so one of fewer dimensions gets some of size 1 behind its
// examples.
std::vector<MappedVar> elementwise(const VmapCall& call) {
  int rank = 0;
  for (const Type& type : call.call.in) rank = std::max(rank, type.rank());
  std::vector<Var> operands;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    operands.push_back(call.front(i));
    if (!call.is_mapped(i)) continue;
    Shape shape = operands[i].shape();
    while (shape.rank() < rank + 1) shape.insert(1, 1);
    operands[i] = tidemark::reshape(operands[i], shape);
  }
  return mapped_at(call.again(operands), 0);
}

std::vector<MappedVar> leading(const VmapCall& call) { return mapped_at(call.again(all_whole(call)), 0); }

std::vector<MappedVar> along_axis(const VmapCall& call) {
  const AttrSchema& schema = call.call.op->schema();
  const auto axis = std::ranges::find(schema, "axis", &AttrSpec::name) - schema.begin();
  TM_CHECK(axis < std::ssize(schema), "{} has no axis", call.call.op->name);
  Attrs attrs = *call.call.attrs;
  ++std::get<std::int64_t>(attrs[static_cast<std::size_t>(axis)]);
  return mapped_at(call.again(all_whole(call), attrs), 0);
}

std::vector<MappedVar> reduction(const VmapCall& call) {
  auto attrs = call.call.attrs_as<ReduceAttrs>();
  attrs.axes = shifted_axes(attrs.axes);
  return mapped_at(call.again(all_whole(call), pack(attrs)), 0);
}

std::vector<MappedVar> broadcast(const VmapCall& call) {
  Shape shape = call.front(0).shape();
  const Shape& to = call.call.out[0].shape;
  while (shape.rank() < to.rank() + 1) shape.insert(1, 1);
  return {{tidemark::broadcast(tidemark::reshape(call.front(0), shape), behind_examples(to, call.size)), 0}};
}

std::vector<MappedVar> reshape(const VmapCall& call) {
  return {{tidemark::reshape(call.front(0), behind_examples(call.call.out[0].shape, call.size)), 0}};
}

std::vector<MappedVar> transpose(const VmapCall& call) {
  const Dims order = shifted_axes(call.call.attrs_as<TransposeAttrs>().order);
  return {{tidemark::transpose(call.front(0), behind_examples(order, 0)), 0}};
}

std::vector<MappedVar> slice(const VmapCall& call) {
  const auto [start, limit, step] = call.call.attrs_as<SliceAttrs>();
  return {{tidemark::slice(call.front(0), behind_examples(start, 0), behind_examples(limit, call.size),
                           behind_examples(step, 1)),
           0}};
}

std::vector<MappedVar> pad(const VmapCall& call) {
  if (call.is_mapped(1)) return {};
  const auto [low, high, interior] = call.call.attrs_as<PadAttrs>();
  return {{tidemark::pad(call.front(0), call.in[1].var, behind_examples(low, 0), behind_examples(high, 0),
                         behind_examples(interior, 0)),
           0}};
}

std::vector<MappedVar> flip(const VmapCall& call) {
  return {{tidemark::flip(call.front(0), shifted_axes(call.call.attrs_as<AxesAttrs>().axes)), 0}};
}

std::vector<MappedVar> update_slice(const VmapCall& call) {
  const auto [start, step] = call.call.attrs_as<UpdateSliceAttrs>();
  const Var x = call.whole(0), update = call.whole(1);
  return {{tidemark::update_slice(x, update, behind_examples(start, 0), behind_examples(step, 1)), 0}};
}

// Where every example has its own table and its own indices, dimension 1 is the one that is looked up and
// what is looked up are single elements, so that an index out of range stays one.
std::vector<MappedVar> take(const VmapCall& call) {
  const auto [axis64, what] = call.call.attrs_as<TakeAttrs>();
  const int axis = static_cast<int>(axis64);
  if (!call.is_mapped(1)) return {{tidemark::take(call.front(0), call.in[1].var, axis + 1, what), 0}};
  const Var indices = call.front(1);
  if (!call.is_mapped(0)) return {{tidemark::take(call.in[0].var, indices, axis, what), axis}};
  const Var x = with_axis_at(call.front(0), axis + 1, 1);
  const Shape& table = x.shape();
  const std::int64_t count = call.call.in[1].count();
  Shape looked_up = table;
  looked_up[1] = count;
  Shape flat = Shape::filled(table.rank(), 1);
  flat[0] = call.size, flat[1] = count;
  const Var places = tidemark::broadcast(tidemark::reshape(indices, flat), looked_up);
  // (examples, indices, what is left) with the indices back at their place and in their shape.
  const Var found = with_axis_at(gather(x, places, 1), 1, axis + 1);
  return {{tidemark::reshape(found, behind_examples(call.call.out[0].shape, call.size)), 0}};
}

namespace {

// The sums of updates, with the examples in front.
Var sums_of_updates(const VmapCall& call) {
  const auto [axis64, axis_size] = call.call.attrs_as<TakeAddAttrs>();
  const int axis = static_cast<int>(axis64);
  if (!call.is_mapped(1)) return tidemark::take_add(call.whole(0), call.in[1].var, axis + 1, axis_size);
  const std::int64_t count = call.call.in[1].count();
  Shape flat = call.call.out[0].shape;
  flat[axis] = count;
  const Var rows = tidemark::reshape(call.whole(0), behind_examples(flat, call.size));
  const Var updates = with_axis_at(rows, axis + 1, 1);
  Shape one = Shape::filled(updates.shape().rank(), 1);
  one[0] = call.size, one[1] = count;
  const Var places = tidemark::broadcast(tidemark::reshape(call.front(1), one), updates.shape());
  Type sums = updates.type();
  sums.shape[1] = axis_size;
  const Var sum = scatter_add(zeros(call.builder, sums), places, updates, 1);
  return with_axis_at(sum, 1, axis + 1);
}

}  // namespace

// The adjoint of take, likewise; with a third operand, an addition behind it.
std::vector<MappedVar> take_add(const VmapCall& call) {
  const Var sums = sums_of_updates(call);
  return {{call.in.size() == 3 ? call.whole(2) + sums : sums, 0}};
}

}  // namespace tidemark::vmap_rule_of
