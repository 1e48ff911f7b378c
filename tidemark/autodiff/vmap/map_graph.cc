#include "tidemark/autodiff/vmap/map_graph.h"

#include <algorithm>

#include "tidemark/autodiff/reverse.h"
#include "tidemark/autodiff/vmap/rules.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// What the op is written in, mapped in its place.
std::vector<MappedVar> map_expansion(const VmapCall& call) {
  Graph example;
  Builder builder(example);
  builder.set_where(call.call.where);
  std::vector<Var> in;
  for (const Type& type : call.call.in) in.push_back(builder.input(type));
  for (const Var& result : call.call.op->expand(
           {.builder = builder, .call = call.call, .in = in, .out = {}, .seed = {}, .calculus = &calculus}))
    example.add_output(result.id());
  return map_examples(call.builder, example, call.in, call.size);
}

void require_room_for_examples(const Call& call) {
  for (const Type& type : call.out) {
    if (type.rank() < max_rank) continue;
    fail(
        ErrorCode::shape_mismatch,
        {.what = fmt::format("vmap: {} makes {} for each example, which leaves no dimension for the examples",
                             call.op->name, to_string(type)),
         .expected = fmt::format("at most {} dimensions for an example", max_rank - 1),
         .where = call.where,
         .help = "reshape it to fewer dimensions, or map over fewer axes"});
  }
}

std::vector<MappedVar> map_call(const VmapCall& call) {
  require_room_for_examples(call.call);
  if (const VmapRule rule = vmap_rule(*call.call.op)) {
    std::vector<MappedVar> results = rule(call);
    if (!results.empty() || call.call.out.empty()) return results;
  }
  return call.call.op->expand ? map_expansion(call) : one_by_one(call);
}

// With its examples where they are asked for, also where all examples have the same.
Var placed(const MappedVar& value, std::int64_t size, int axis) {
  if (value.mapped()) return with_axis_at(value.var, value.axis, axis);
  Shape shape = value.var.shape();
  shape.insert(0, size);
  return with_axis_at(broadcast(value.var, shape), 0, axis);
}

}  // namespace

std::vector<MappedVar> one_by_one(const VmapCall& call) {
  std::vector<Var> operands;
  Graph body;
  Builder inside(body);
  inside.set_where(call.call.where);
  std::vector<Var> in(call.in.size());
  std::int64_t scanned = 0;
  for (const bool mapped : {true, false}) {  // a loop has what it scans before what it captures
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (call.is_mapped(i) != mapped) continue;
      operands.push_back(call.front(i));
      in[i] = inside.input(call.call.in[i]);
      scanned += mapped;
    }
  }
  const std::vector<Graph> regions(call.call.regions.begin(), call.call.regions.end());
  for (const Var& result : inside.call(*call.call.op, in, *call.call.attrs, regions))
    body.add_output(result.id());
  const LoopAttrs attrs{.trips = call.size, .carries = 0, .scanned = scanned};
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body));
  return mapped_at(call.builder.call(op::loop, operands, pack(attrs), std::move(bodies)), 0);
}

std::vector<MappedVar> map_examples(Builder& builder, const Graph& f, std::span<const MappedVar> in,
                                    std::int64_t size) {
  TM_CHECK(in.size() == f.inputs().size());
  std::vector<MappedVar> image(f.values().size());
  for (std::size_t i = 0; i < in.size(); ++i) image[f.inputs()[i].value.index] = in[i];
  const CheckpointId within = builder.checkpoint();
  const SourceLine line = builder.where();
  const bool backward = builder.backward();
  const std::uint32_t shift = copy_checkpoints(f, builder.graph(), within);
  for (const Node& node : f.nodes()) {
    if (node.where.known()) builder.set_where(node.where);
    builder.set_checkpoint(shifted(node.checkpoint, shift, within));
    builder.set_backward(node.backward || backward);
    std::vector<MappedVar> operands;
    for (ValueId v : node.operands) operands.push_back(image[v.index]);
    std::vector<MappedVar> results;
    if (std::ranges::any_of(operands, &MappedVar::mapped)) {
      const NodeCall call(f, node);
      results = map_call({.builder = builder, .call = call, .in = operands, .size = size});
      TM_CHECK(results.size() == node.results.size(), "{}: vmap gave {} results", node.op->name,
               results.size());
    } else {
      std::vector<Var> same;
      for (const MappedVar& operand : operands) same.push_back(operand.var);
      results = mapped_at(builder.call(*node.op, same, node.attrs, node.regions), -1);
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      image[node.results[r].index] = results[r];
      // What has a name already is an operand that a rule passed on.
      std::string& name = builder.graph()[results[r].var.id()].name;
      if (name.empty()) name = f[node.results[r]].name;
    }
  }
  builder.set_checkpoint(within);
  builder.set_where(line);
  builder.set_backward(backward);
  std::vector<ValueId> ids(image.size());
  for (std::size_t v = 0; v < image.size(); ++v) {
    if (image[v].var) ids[v] = image[v].var.id();
  }
  copy_hints(f, builder.graph(), shift, ids);
  std::vector<MappedVar> outputs;
  for (ValueId v : f.outputs()) outputs.push_back(image[v.index]);
  return outputs;
}

MappedRegion map_region(const Graph& region, const std::vector<bool>& mapped, std::int64_t size,
                        const std::vector<bool>& whole) {
  MappedRegion result;
  result.graph.name = region.name;
  Builder builder(result.graph);
  std::vector<MappedVar> in;
  for (std::size_t i = 0; i < region.inputs().size(); ++i) {
    const Input& input = region.inputs()[i];
    const Value& value = region[input.value];
    const Type type = mapped[i] ? stacked(size, value.type) : value.type;
    in.push_back({Var(builder, result.graph.add_input(type, value.name, input.donated)), mapped[i] ? 0 : -1});
  }
  const std::vector<MappedVar> outputs = map_examples(builder, region, in, size);
  for (std::size_t r = 0; r < outputs.size(); ++r) {
    result.mapped.push_back(outputs[r].mapped() || (!whole.empty() && whole[r]));
    result.graph.add_output((result.mapped[r] ? placed(outputs[r], size, 0) : outputs[r].var).id());
  }
  return result;
}

Graph vmap_graph(const Graph& f, std::span<const int> axes, std::int64_t size, int out_axis) {
  Graph result;
  result.name = f.name;
  Builder builder(result);
  std::vector<MappedVar> in;
  for (std::size_t i = 0; i < f.inputs().size(); ++i) {
    const Value& value = f[f.inputs()[i].value];
    Type type = value.type;
    if (axes[i] >= 0) type.shape.insert(axes[i], size);
    in.push_back({Var(builder, result.add_input(type, value.name)), axes[i]});
    result.inputs().back().differentiated = f.inputs()[i].differentiated;
  }
  const std::vector<MappedVar> outputs = map_examples(builder, f, in, size);
  for (std::size_t r = 0; r < outputs.size(); ++r) {
    const int rank = f.type(f.outputs()[r]).rank() + 1;
    result.add_output(placed(outputs[r], size, out_axis < 0 ? out_axis + rank : out_axis).id());
  }
  return result;
}

}  // namespace tidemark
