#include "tidemark/plan/report/packed.h"

#include "tidemark/ir/op.h"

namespace tidemark {

bool unpacks_own(const Graph& graph, const Node& node) {
  if (!node.op->unpacks) return false;
  const NodeId maker = graph[node.operands[0]].producer;
  return maker.valid() && graph.type(graph[maker].operands[0]) == graph.type(node.results[0]);
}

}  // namespace tidemark
