#include "tidemark/opt/dce.h"

#include <algorithm>

#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {

Graph dce(const Graph& graph) {
  std::vector<bool> used(graph.values().size(), false), live(graph.nodes().size(), false);
  for (ValueId v : graph.outputs()) used[v.index] = true;
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    live[i] =
        has_effects(node) || std::ranges::any_of(node.results, [&](ValueId v) { return used[v.index]; });
    if (!live[i]) continue;
    for (ValueId v : node.operands) used[v.index] = true;
  }
  Rewriter rewriter(graph, dce);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) rewriter.copy(NodeId(i));
  }
  return rewriter.finish();
}

}  // namespace tidemark
