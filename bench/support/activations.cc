#include "bench/support/activations.h"

#include <algorithm>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark::bench {
namespace {

// Per node: does the last output depend on it?
std::vector<bool> forward_nodes(const Graph& graph) {
  std::vector<bool> forward(graph.nodes().size(), false);
  std::vector<ValueId> waiting = {graph.outputs().back()};
  while (!waiting.empty()) {
    const ValueId v = waiting.back();
    waiting.pop_back();
    if (graph.is_input(v)) continue;
    const NodeId node = graph[v].producer;
    if (forward[node.index]) continue;
    forward[node.index] = true;
    const auto& operands = graph[node].operands;
    waiting.insert(waiting.end(), operands.begin(), operands.end());
  }
  return forward;
}

}  // namespace

std::int64_t activation_bytes(const Graph& graph, const Plan& plan) {
  const std::vector<bool> forward = forward_nodes(graph);
  std::vector<std::int32_t> last_read(plan.buffers.size(), -1);
  std::vector<bool> kept(plan.buffers.size(), false);
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    for (const Ref& ref : plan.steps[t].in) {
      if (graph.is_input(ref.value) || !forward[graph[ref.value].producer.index]) continue;
      last_read[ref.buffer.index] = static_cast<std::int32_t>(t);
      if (!forward[plan.steps[t].node.index]) kept[ref.buffer.index] = true;
    }
  }
  std::vector<std::int64_t> change(plan.steps.size() + 1, 0);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (!kept[b] || buffer.binding != Binding::arena) continue;
    change[static_cast<std::size_t>(buffer.begin)] += buffer.bytes;
    change[static_cast<std::size_t>(last_read[b]) + 1] -= buffer.bytes;
  }
  std::int64_t load = 0, most = 0;
  for (std::int64_t c : change) most = std::max(most, load += c);
  return most;
}

}  // namespace tidemark::bench
