// In place: a result takes over the memory of an operand that dies in the same step.
//
// Proof of each take-over: the op says so for these strides (can_overwrite), the operand's root is in the arena, is
// no output, and no execution after this one reads it or any window on it before it is computed again.
#include <algorithm>

#include "tidemark/plan/passes.h"

namespace tidemark {

Draft in_place(Draft draft) {
  const Graph& graph = *draft.graph;
  const std::vector<bool> pinned = output_roots(draft);

  // Walking backwards: is the root read again before its next computation?
  std::vector<bool> read_later(graph.values().size(), false);
  for (auto run = draft.executions.rbegin(); run != draft.executions.rend(); ++run) {
    const Node& node = graph[run->node];
    for (ValueId v : node.results) read_later[v.index] = false;
    run->overwrites.assign(node.results.size(), -1);
    if (node.op->in_place) {
      const PlannedCall call(draft, node);
      std::vector<ValueId> taken;
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        const ValueId home = draft.home[node.results[r].index];
        for (std::size_t k = 0; k < node.operands.size(); ++k) {
          const ValueId root = draft.root(node.operands[k]);
          const bool same_home = root == home || draft.home[root.index] == home;
          const bool in_arena = !graph.is_input(root) && !draft.home[root.index].valid();
          // A value with a home overwrites only what lives there; others only what lives in the arena.
          if (home.valid() ? !same_home : !in_arena) continue;
          if (pinned[root.index] || read_later[root.index] || std::ranges::count(taken, root) > 0) continue;
          if (!can_overwrite(draft, node, call, static_cast<int>(r), static_cast<int>(k))) continue;
          run->overwrites[r] = static_cast<int>(k);
          taken.push_back(root);
          break;
        }
      }
    }
    for (ValueId v : node.operands) read_later[draft.root(v).index] = true;
  }
  return draft;
}

}  // namespace tidemark
