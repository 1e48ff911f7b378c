// Which nodes give back what waited in a smaller form.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

// Does it unpack what was packed in the same call? State that is small between calls was not. `region`: the
// graph is one, and what comes into it are records.
bool unpacks_own(const Graph& graph, const Node& node, bool region);

}  // namespace tidemark
