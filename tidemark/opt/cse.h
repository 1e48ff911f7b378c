// Common subexpressions: of nodes with the same op, operands, attributes and regions only the first is kept.
// Nodes of checkpoints that are not inside each other stay apart, or one could not be recomputed without the
// other. Nodes that may not run again (replay never) and effects are all kept.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

Graph cse(const Graph& graph);

}  // namespace tidemark
