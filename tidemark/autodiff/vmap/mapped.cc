#include "tidemark/autodiff/vmap/mapped.h"

#include "tidemark/ops/movement/movement.h"

namespace tidemark {

Var with_axis_at(const Var& x, int from, int to) {
  if (from == to) return x;
  Dims order;
  for (int d = 0; d < x.shape().rank(); ++d) {
    if (d != from) order.push_back(d);
  }
  order.insert(to, from);
  return transpose(x, order);
}

Var VmapCall::whole(std::size_t operand, int axis) const {
  const auto& [var, own] = in[operand];
  if (own >= 0) return with_axis_at(var, own, axis);
  Shape shape = var.shape();
  shape.insert(0, size);
  return with_axis_at(broadcast(var, shape), 0, axis);
}

Var VmapCall::front(std::size_t operand) const {
  return is_mapped(operand) ? whole(operand) : in[operand].var;
}

Var VmapCall::merged(std::size_t operand, int axis) const {
  const Var x = whole(operand, axis);
  Shape shape = x.shape();
  shape[axis] *= shape[axis + 1];
  shape.erase(axis + 1);
  return reshape(x, shape);
}

std::vector<Var> VmapCall::again(std::span<const Var> operands, Attrs attrs,
                                 std::vector<Graph> regions) const {
  return builder.call(*call.op, operands, std::move(attrs), std::move(regions));
}

std::vector<MappedVar> mapped_at(std::span<const Var> results, int axis) {
  std::vector<MappedVar> list;
  for (const Var& result : results) list.push_back({result, axis});
  return list;
}

MappedVar VmapCall::split(std::size_t r, const Var& result, int axis) const {
  Shape shape = call.out[r].shape;
  shape.insert(axis, size);
  return {reshape(result, shape), axis};
}

}  // namespace tidemark
