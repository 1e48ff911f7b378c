#include "tidemark/plan/report/packed.h"

#include "tidemark/ir/op.h"

namespace tidemark {

bool unpacks_own(const Graph& graph, const Node& node, bool region) {
  if (!node.op->unpacks) return false;
  const NodeId maker = graph[node.operands[0]].producer;
  if (!maker.valid()) return region;
  return graph.type(graph[maker].operands[0]) == graph.type(node.results[0]);
}

}  // namespace tidemark
