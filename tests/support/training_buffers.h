// Buffers with the lifetimes of training steps, for tests and benchmarks of the packer; the same for a given
// seed.
//
//   time ──▶  forward            backward            update
//   saved     ├──────────────────────┤                          activations, nested
//   passing   ├─┤  ├──┤              ├─┤ ├──┤ ├─┤               temporaries and gradients of activations
//   weights                              ├───────────────┤ ├┤   gradients of parameters, then their update
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/solve/pack/pack.h"

namespace tidemark::testing {

enum class TrainingShape {
  transformer,  // equal layers
  convnet,      // layers of four kinds, in random turns
  unet,         // sizes shrink to the middle of the network and grow back
  mixed,        // no structure: lifetimes and sizes of all magnitudes, the hardest to pack
};

// About `count` buffers.
std::vector<PackItem> training_buffers(TrainingShape shape, int count, std::uint64_t seed);

}  // namespace tidemark::testing
