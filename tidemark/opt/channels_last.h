// Images with their channels last. A convolution means (N, C, S…); GPUs compute it fastest where memory has
// the order (N, S…, C). This pass rewrites 16-bit convolutions and their gradients to ops of that order
// (conv_last), and all that lies between them: elementwise ops, normalisations, pools, concatenations,
// reductions, moves. Transposes stay where values come from or go to what has no such form: images that are
// given, parameters, results of the function.
//
// Images of few channels get zeros for more, or become cells of 2 x 2 points with all their channels where
// they are convolved in steps of two.
//
// Every value of the source has a *twin* in that order, its own order, or both; a twin is made when somebody
// needs it. Sums over channels and points may be in another order than before.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph channels_last(const Graph& graph, const KnownOps& ops);
// Is there anything for it, in regions too?
bool has_convolutions(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
