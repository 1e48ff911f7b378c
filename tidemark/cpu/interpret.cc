#include "tidemark/cpu/interpret.h"

#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark {
namespace {

TensorRef dense_ref(const Type& type, std::byte* data) {
  return {.data = data, .dtype = type.dtype, .shape = type.shape, .strides = dense_strides(type.shape)};
}

// A region run node by node, its outputs copied to where they are wanted.
struct InterpretedRegion {
  const Graph* graph;
  ThreadPool* pool;
  static void run(void* self, std::byte* const* inputs, std::byte* const* outputs) {
    const auto& region = *static_cast<const InterpretedRegion*>(self);
    const std::vector<const std::byte*> data(inputs, inputs + region.graph->inputs().size());
    const std::vector<AlignedBytes> memory = interpret(*region.graph, data, *region.pool);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(region.graph->type(region.graph->outputs()[i]).bytes());
      if (bytes > 0) std::memcpy(outputs[i], memory[i].get(), bytes);
    }
  }
};

std::vector<AlignedBytes> run_node(const Graph& graph, const Node& node, std::span<const TensorRef> values,
                                   ThreadPool& pool) {
  const NodeCall call(graph, node);
  const CpuKernel* kernel = find_cpu_kernel(*node.op);
  if (!kernel || !kernel->run) {
    fail(ErrorCode::no_kernel,
         {.what = fmt::format("{} cannot run on the CPU: it has no kernel", node.op->name),
          .where = node.where,
          .help = "such an op can only be planned"});
  }
  std::vector<TensorRef> in, out;
  for (ValueId v : node.operands) in.push_back(values[v.index]);
  std::vector<AlignedBytes> memory;
  for (ValueId v : node.results) {
    memory.push_back(allocate_aligned(graph.type(v).bytes()));
    out.push_back(dense_ref(graph.type(v), memory.back().get()));
  }
  const AlignedBytes scratch = allocate_aligned(cpu_target().scratch(call));
  const std::shared_ptr<const void> attributes = kernel->prepare(call);
  std::vector<InterpretedRegion> regions;
  std::vector<RegionFunction> runs;
  for (const Graph& region : node.regions) regions.push_back({&region, &pool});
  for (InterpretedRegion& region : regions) runs.push_back({InterpretedRegion::run, &region});
  kernel->run({.in = in,
               .out = out,
               .attributes = attributes.get(),
               .scratch = scratch.get(),
               .pool = &pool,
               .regions = runs,
               .where = node.where});
  return memory;
}

AlignedBytes copy_of(const TensorRef& ref) {
  const std::int64_t bytes = ref.count() * size_of(ref.dtype);
  AlignedBytes copy = allocate_aligned(bytes);
  if (bytes > 0) std::memcpy(copy.get(), ref.data, static_cast<std::size_t>(bytes));
  return copy;
}

}  // namespace

std::vector<AlignedBytes> interpret(const Graph& graph, std::span<const std::byte* const> inputs,
                                    ThreadPool& pool) {
  TM_CHECK(inputs.size() == graph.inputs().size());
  std::vector<AlignedBytes> memory(graph.values().size());  // empty for inputs
  std::vector<TensorRef> values(graph.values().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs()[i].value;
    values[v.index] =
        dense_ref(graph.type(v), const_cast<std::byte*>(inputs[i]));  // kernels do not write operands
  }
  std::vector<int> uses = use_counts(graph);
  for (const Node& node : graph.nodes()) {
    std::vector<AlignedBytes> results = run_node(graph, node, values, pool);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const ValueId v = node.results[r];
      if (uses[v.index] == 0) continue;
      values[v.index] = dense_ref(graph.type(v), results[r].get());
      memory[v.index] = std::move(results[r]);
    }
    for (ValueId v : node.operands) {
      if (--uses[v.index] == 0) memory[v.index].reset();
    }
  }
  std::vector<AlignedBytes> outputs;
  for (ValueId v : graph.outputs()) {
    const bool last_use = --uses[v.index] == 0 && memory[v.index] != nullptr;
    outputs.push_back(last_use ? std::move(memory[v.index]) : copy_of(values[v.index]));
  }
  return outputs;
}

std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs, ThreadPool& pool) {
  std::vector<const std::byte*> data;
  for (const Literal& input : inputs) data.push_back(input.bytes.data());
  const std::vector<AlignedBytes> memory = interpret(graph, data, pool);
  std::vector<Literal> outputs;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const Type& type = graph.type(graph.outputs()[i]);
    outputs.push_back({.dtype = type.dtype,
                       .shape = type.shape,
                       .bytes = {memory[i].get(), memory[i].get() + type.bytes()}});
  }
  return outputs;
}

std::vector<Literal> interpret(const Op& op, std::span<const Literal> operands, const Attrs& attrs,
                               ThreadPool& pool) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Literal& operand : operands) in.push_back(builder.input({operand.dtype, operand.shape}));
  for (const Var& result : builder.call(op, in, attrs)) graph.add_output(result.id());
  return interpret(graph, operands, pool);
}

}  // namespace tidemark
