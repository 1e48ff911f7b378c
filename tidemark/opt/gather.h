// Sums of products of parts become one product of the whole:
//
//   a_1ᵀ b_1 + a_2ᵀ b_2 + … + a_nᵀ b_n   →   [a_1; a_2; …]ᵀ [b_1; b_2; …]
//
// where both stacks are made anyway: the gradient of a matrix that an unrolled loop multiplies with at every
// step, when its outputs are stacked and so are the gradients of its inputs. One large product instead of
// many thin ones, and the sum is not read and written for each. The sum runs in another order, as the product
// over the stack would have run at once.
#pragma once
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph gather(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
