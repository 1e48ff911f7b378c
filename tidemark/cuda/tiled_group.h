// A group that reads windows on what it makes, as CUDA C++: one kernel, which works in tiles (tile_layout.h).
// Every element is computed from the same operands by the same formulas wherever it is computed, so tiles do
// not show in the bits.
#pragma once
#include "tidemark/cuda/kernel_text.h"
#include "tidemark/cuda/tile_layout.h"

namespace tidemark::cuda {

// `stays`: as tile_layout takes it.
KernelText write_tiled_group(std::span<const GroupStep> steps, std::string_view name,
                             std::optional<bool> stays = {});

}  // namespace tidemark::cuda
