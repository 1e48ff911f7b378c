// Holds a graph against everything the rest of the house takes for granted: ids in range, every value defined
// once and before it is used, back links, attributes as the op's schema says, result types as the op infers
// them, regions.
#pragma once
#include <string_view>

#include "tidemark/ir/graph.h"

namespace tidemark {

void verify(const Graph& graph);  // throws Error malformed_graph
// For graphs our own passes made: a failure is our bug. `after` names the pass.
void verify_or_internal(const Graph& graph, std::string_view after);

}  // namespace tidemark
