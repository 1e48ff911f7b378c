// Convolutions of images whose channels come last, the order in which GPUs compute them fastest. Each is the
// op of conv.h with its operands and result transposed, and is written so (`expand`); a graph is brought into
// this order where its target likes it (opt/channels_last.h), so no function of the user's makes them.
//
//   conv_last              x (N, S…, C)  w (O, K…, C/groups)  ->  y (N, P…, O)
//   conv_last_input_grad   y (N, P…, O)  w (O, K…, C/groups)  ->  x (N, S…, C)
//   conv_last_weight_grad  x (N, S…, C)  y (N, P…, O)         ->  w (O, K…, C/groups)
#pragma once
#include "tidemark/ops/convolution/conv.h"

namespace tidemark {

Dims channels_last_order(int rank);   // the permutation that brings (N, C, S…) to (N, S…, C)
Dims channels_first_order(int rank);  // and back

}  // namespace tidemark
