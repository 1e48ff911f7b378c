#include "tidemark/plan/passes/groups.h"

#include <algorithm>

namespace tidemark {

std::size_t group_end(const Draft& draft, std::size_t t) {
  const int group = draft.executions[t++].group;
  while (group >= 0 && t < draft.executions.size() && draft.executions[t].group == group) ++t;
  return t;
}

std::vector<std::vector<bool>> in_tiles(const Draft& draft) {
  const Graph& graph = *draft.graph;
  const std::vector<bool> pinned = output_roots(draft);
  std::vector<std::vector<bool>> result(draft.executions.size());
  constexpr std::size_t never = 0;
  const std::size_t at_the_end = draft.executions.size() + 1;
  // One past it; of the version at hand. Of an output, only the last version is wanted at the end.
  std::vector<std::size_t> last_read(graph.values().size(), never);
  for (std::size_t v = 0; v < last_read.size(); ++v) {
    if (pinned[v]) last_read[v] = at_the_end;
  }
  std::size_t end = draft.executions.size();  // of the group at hand
  std::vector<std::size_t> behind;  // per duplicate of it, the last in front: who reads the version before
  for (std::size_t t = draft.executions.size(); t-- > 0;) {
    const Execution& run = draft.executions[t];
    if (t + 1 == draft.executions.size() || draft.executions[t + 1].group != run.group || run.group < 0) {
      end = t + 1;
      behind.clear();
      for (std::size_t s = t + 1; s-- > 0 && run.group >= 0 && draft.executions[s].group == run.group;) {
        if (draft.executions[s].duplicate)
          behind.push_back(last_read[graph[draft.executions[s].node].results[0].index]);
      }
      std::ranges::reverse(behind);
    }
    const Node& node = graph[run.node];
    if (run.duplicate) {
      result[t].push_back(true);
      last_read[node.results[0].index] = behind.back();
      behind.pop_back();
    } else {
      for (ValueId v : node.results) {
        if (run.group >= 0) result[t].push_back(!draft.is_view(v) && last_read[v.index] <= end);
        last_read[v.index] = never;
      }
    }
    for (ValueId v : node.operands) {
      std::size_t& last = last_read[draft.root(v).index];
      last = std::max(last, t + 1);
    }
  }
  return result;
}

void Holders::come_to(const Execution& run) {
  if (run.group >= 0 && run.group == group_) return;
  for (const auto& [root, buffer] : before_) buffer_[root.index] = buffer;
  before_.clear();
  group_ = run.group;
}

bool is_aligned(const Draft& draft, ValueId operand, const Shape& shape) {
  return draft.graph->type(operand).shape == shape && draft.covers_root(operand);
}

}  // namespace tidemark
