#include "tidemark/autodiff/loop_pairs.h"

#include <algorithm>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

bool is_kept_loop(const Node& node) { return node.op == &op::loop && unpack<LoopAttrs>(node.attrs).keep > 0; }

bool is_kept_while(const Node& node) {
  return node.op == &op::while_loop && unpack<WhileAttrs>(node.attrs).keep > 0;
}

std::map<std::uint32_t, NodeId> loop_pairs(const Graph& graph) {
  std::map<std::uint32_t, NodeId> pairs;
  const std::vector<std::vector<NodeId>> readers = consumers(graph);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!is_kept_loop(node)) continue;
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    NodeId only;
    bool one = true;
    for (std::size_t r = node.results.size() - static_cast<std::size_t>(attrs.carries);
         r < node.results.size(); ++r) {
      for (NodeId reader : readers[node.results[r].index]) {
        one = one && (!only.valid() || only == reader) && graph[reader].op == &op::loop_reverse;
        only = reader;
      }
      one = one && std::ranges::count(graph.outputs(), node.results[r]) == 0;
    }
    if (one && only.valid()) pairs[static_cast<std::uint32_t>(n)] = only;
  }
  return pairs;
}

std::int64_t state_bytes(const Graph& graph, const Node& loop) {
  std::int64_t bytes = 0;
  const auto carries = static_cast<std::size_t>(unpack<LoopAttrs>(loop.attrs).carries);
  for (std::size_t c = 0; c < carries; ++c) bytes += graph.type(loop.operands[c]).bytes();
  return bytes;
}

std::map<std::uint32_t, std::size_t> loop_numbers(const Graph& graph,
                                                  const std::map<std::uint32_t, NodeId>& pairs) {
  std::map<std::uint32_t, std::size_t> numbers;
  std::size_t next = 0;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const auto id = static_cast<std::uint32_t>(n);
    if (node.regions.empty() || numbers.contains(id)) continue;
    if (node.op == &op::loop_reverse && unpack<LoopReverseAttrs>(node.attrs).unknown_length()) {
      const ValueId slots = node.operands.back();
      const auto loop = graph.is_input(slots) ? numbers.end() : numbers.find(graph[slots].producer.index);
      if (loop != numbers.end()) {
        numbers[id] = loop->second;
        continue;
      }
    }
    const auto pair = pairs.find(id);
    const bool inside =
        std::ranges::any_of(node.regions, [](const Graph& region) { return loop_memory_range(region).any; });
    const bool reversal_inside =
        pair != pairs.end() && std::ranges::any_of(graph[pair->second].regions, [](const Graph& region) {
          return loop_memory_range(region).any;
        });
    if (pair == pairs.end() && !is_kept_while(node) && !inside && !reversal_inside) continue;
    numbers[id] = next;
    if (pair != pairs.end()) numbers[pair->second.index] = next;
    ++next;
  }
  return numbers;
}

std::int64_t while_state_bytes(const Graph& graph, const Node& loop) {
  std::int64_t bytes = 0;
  const auto carries = static_cast<std::size_t>(unpack<WhileAttrs>(loop.attrs).carries);
  for (std::size_t c = 0; c < carries; ++c) bytes += graph.type(loop.operands[c]).bytes();
  return bytes;
}

}  // namespace tidemark
