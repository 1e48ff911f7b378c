// Takes sums over the steps of a loop out of its reverse. The gradient of a captured matrix is a sum of
// products,
//
//   dW = Σ_t a_tᵀ b_t,
//
// to which the reverse of each step would add one. Where all a_t and all b_t lie stacked anyway (what was
// scanned or put out, the gradients of either, or what was carried if it was put out too), it is one product
// over steps and rows: large instead of thin, and the sum is not read and written at every step. Steps then
// need not keep a_t for it either.
//
// Written before it is decided how loops are reversed, so that the bits do not depend on the memory there is.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

Graph take_out_sums(const Graph& graph);

}  // namespace tidemark
