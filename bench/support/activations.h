// How much of a plan's memory is activations: what the forward pass computes and keeps for the backward pass.
// Gradients, the optimizer's update, scratch, parameters and data are not among them.
#pragma once
#include <cstdint>

#include "tidemark/plan/plan.h"

namespace tidemark::bench {

// The most bytes of the arena that hold such values at one time. The forward pass is what the last output,
// the loss, depends on; a value is kept for the backward pass if something else reads it. It is kept from the
// step that makes its buffer to the last step that reads it there; computed again, it is another buffer.
std::int64_t activation_bytes(const Graph& graph, const Plan& plan);

}  // namespace tidemark::bench
