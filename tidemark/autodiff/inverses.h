// Forward values computed back from what follows them, where the backward pass reads them. A reversible block
// y = x + f(other half) can be undone (Op::inverse, to the bit), so that x need not wait: the chain of blocks
// is walked back from its end, and memory does not grow with its depth.
//
//   x ──▶ couple ──▶ y ──▶ … ──▶ rules of later blocks       x′ = uncouple(y′, f′): the bits of x
//   └──▶ f ───┘                                              f′: f once more, of values that were computed back
//
// Which calls are undone is the choice of whoever plans: the first `count` of them, so that those at the end,
// whose values are read first, keep them. Reverse mode marks what rules read (residuals.h); the marks of what
// can be had back are lowered to the nodes that do it, all others stay.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

// Calls of a graph, not of its regions, that can be undone if one has what else they read: couplings.
std::size_t invertible_calls(const Graph& graph);

// With `count` 0: the marks that serve nothing else are gone.
Graph lower_inverses(const Graph& graph, std::size_t count);

}  // namespace tidemark
