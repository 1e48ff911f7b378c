#include "tidemark/opt/dce.h"

#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {

Graph dce(const Graph& graph) {
  std::vector<bool> effects(graph.nodes().size(), false);
  for (std::size_t i = 0; i < effects.size(); ++i) effects[i] = has_effects(graph.nodes()[i]);
  const std::vector<bool> live = needed_nodes(graph, effects);
  Rewriter rewriter(graph, dce);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) rewriter.copy(NodeId(i));
  }
  return rewriter.finish();
}

}  // namespace tidemark
