// Rewrites chosen nodes as their `expand`: the same meaning in simpler ops. Autodiff uses it for ops without
// a rule, the engine for ops without a kernel.
#pragma once
#include <algorithm>
#include <functional>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Expands every node for which `should_expand` holds, and what its expansion brings in, until none is left.
// `inside`: what regions hold, too.
enum class ExpandRegions : bool { leave, inside };
Graph expand(const Graph& graph, const std::function<bool(const Node&)>& should_expand,
             ExpandRegions regions = ExpandRegions::leave);

}  // namespace tidemark
