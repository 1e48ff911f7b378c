// Forward values computed back from what follows them, where the backward pass reads them. A reversible block
// y = x + f(other half) can be undone (Op::inverse, to the bit), so that x need not wait: the chain of blocks
// is walked back from its end, and memory does not grow with its depth.
//
//   x ──▶ couple ──▶ y ──▶ … ──▶ rules of later blocks       x′ = uncouple(y′, f′): the bits of x
//   └──▶ f ───┘                                              f′: f once more, of values that were computed back
//
// Some inverses give the operand up to rounding (Op::conditioning). They serve rules that may read lossy
// copies, where the user allows those, and no longer than the error that adds up along the chain stays
// within what is allowed: then a value of the forward pass is kept, and the chain is walked back from
// there.
//
// Which calls are undone is the choice of whoever plans: the first `count` of them, so that those at the end,
// whose values are read first, keep them. Reverse mode marks what rules read (residuals.h); the marks of what
// can be had back are lowered to the nodes that do it, all others stay.
#pragma once
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Calls of a graph, not of its regions, that can be undone if one has what else they read: couplings. With
// `error` those too that are undone up to rounding.
std::size_t invertible_calls(const Graph& graph, double error = 0);

// A value that is computed back up to rounding.
struct Drift {
  ValueId value;     // of the graph with marks
  double bound = 0;  // of its error, as a share of the largest magnitude along the chain, by what ops state
};

// What is computed back is off by no more than `error`; 0: by nothing. With `count` 0 the marks that serve
// nothing else are gone. With `drifts`: these, in order, and two more outputs for each: the largest
// difference to the value, and its largest magnitude, over finite elements.
Graph lower_inverses(const Graph& graph, std::size_t count, double error = 0,
                     std::vector<Drift>* drifts = nullptr);

}  // namespace tidemark
