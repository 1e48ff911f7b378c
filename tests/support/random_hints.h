// Hints at random on any graph, for laws about plans: nested checkpoints over stretches of its nodes, some
// with memory of their own, and values to keep and to recompute. The same seed gives the same hints.
#pragma once
#include <algorithm>
#include <random>

#include "tidemark/ir/graph.h"

namespace tidemark::testing {

// Checkpoints over random stretches of nodes, nested; what is read outside by later nodes is a result, or
// not.
inline Graph with_random_hints(Graph graph, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t nodes = graph.nodes().size();
  const auto cover = [&](auto& self, std::size_t first, std::size_t last, CheckpointId parent) -> void {
    for (std::size_t at = first; at < last;) {
      const std::size_t end = std::min(last, at + 1 + draw(10));
      if (draw(3) > 0) {
        Checkpoint checkpoint{.parent = parent};
        if (draw(3) == 0) checkpoint.memory = Bytes(static_cast<std::int64_t>(draw(4000)));
        const CheckpointId c = graph.add_checkpoint(checkpoint);
        for (std::size_t n = at; n < end; ++n) {
          graph[NodeId(n)].checkpoint = c;
          for (ValueId v : graph[NodeId(n)].results) {
            if (draw(3) == 0) graph[c].results.push_back(v);
          }
        }
        if (end - at > 3) self(self, at + 1, end, c);
      }
      at = end;
    }
  };
  cover(cover, 0, nodes, {});
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    if (draw(8) == 0)
      graph.add_hint({.kind = draw(2) ? HintKind::keep : HintKind::recompute, .value = ValueId(v)});
  }
  return graph;
}

}  // namespace tidemark::testing
