#include "tidemark/cpu/interpret.h"

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/ir/builder.h"

namespace tidemark {
namespace {

struct AlignedDeleter {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(buffer_alignment)); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDeleter>;

AlignedBytes aligned_bytes(std::int64_t size) {
  return AlignedBytes(new (std::align_val_t(buffer_alignment)) std::byte[static_cast<std::size_t>(size)]);
}

TensorRef dense_ref(const Type& type, std::byte* data) {
  return {.data = data, .dtype = type.dtype, .shape = type.shape, .strides = dense_strides(type.shape)};
}

std::vector<AlignedBytes> run_node(const Graph& graph, const Node& node, std::span<const TensorRef> values,
                                   ThreadPool& pool) {
  const NodeCall call(graph, node);
  const CpuKernel* kernel = find_cpu_kernel(*node.op);
  if (!kernel) {
    fail(ErrorCode::no_kernel, {.what = fmt::format("{} cannot run on the CPU: it has no kernel", node.op->name),
                                .where = node.where,
                                .help = "expand the graph first, or only plan it"});
  }
  std::vector<TensorRef> in, out;
  for (ValueId v : node.operands) in.push_back(values[v.index]);
  std::vector<AlignedBytes> memory;
  for (ValueId v : node.results) {
    memory.push_back(aligned_bytes(graph.type(v).bytes()));
    out.push_back(dense_ref(graph.type(v), memory.back().get()));
  }
  const AlignedBytes scratch = aligned_bytes(scratch_of(call));
  const std::shared_ptr<const void> attributes = kernel->prepare(call);
  kernel->run({.in = in,
               .out = out,
               .attributes = attributes.get(),
               .scratch = scratch.get(),
               .pool = &pool,
               .where = node.where});
  return memory;
}

}  // namespace

std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs, ThreadPool& pool) {
  TM_CHECK(inputs.size() == graph.inputs().size());
  std::vector<AlignedBytes> memory(graph.values().size());
  std::vector<TensorRef> values(graph.values().size());
  const auto place = [&](ValueId v, AlignedBytes bytes) {
    values[v.index] = dense_ref(graph.type(v), bytes.get());
    memory[v.index] = std::move(bytes);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs()[i].value;
    TM_CHECK(inputs[i].dtype == graph.type(v).dtype && inputs[i].shape == graph.type(v).shape);
    AlignedBytes bytes = aligned_bytes(graph.type(v).bytes());
    std::copy(inputs[i].bytes.begin(), inputs[i].bytes.end(), bytes.get());
    place(v, std::move(bytes));
  }
  std::vector<int> uses = use_counts(graph);
  for (const Node& node : graph.nodes()) {
    std::vector<AlignedBytes> results = run_node(graph, node, values, pool);
    for (std::size_t r = 0; r < results.size(); ++r) {
      if (uses[node.results[r].index] > 0) place(node.results[r], std::move(results[r]));
    }
    for (ValueId v : node.operands) {
      if (--uses[v.index] == 0) memory[v.index].reset();
    }
  }
  std::vector<Literal> outputs;
  for (ValueId v : graph.outputs()) {
    const TensorRef& ref = values[v.index];
    const auto size = static_cast<std::size_t>(graph.type(v).bytes());
    outputs.push_back({.dtype = ref.dtype, .shape = ref.shape, .bytes = {ref.data, ref.data + size}});
  }
  return outputs;
}

std::vector<Literal> interpret(const Op& op, std::span<const Literal> operands, const Attrs& attrs, ThreadPool& pool) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Literal& operand : operands) in.push_back(builder.input({operand.dtype, operand.shape}));
  for (const Var& result : builder.call(op, in, attrs)) graph.add_output(result.id());
  return interpret(graph, operands, pool);
}

}  // namespace tidemark
