#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

namespace tidemark {

// Expanded before anything runs.
const CpuKernel cpu::scale_shift = {};
const CpuKernel cpu::leaky_relu = {};
const CpuKernel cpu::invertible_product = {};
const CpuKernel cpu::within = {};

const CpuKernel cpu::undone = tile_kernel<[](const Call& call) {
  return TileCode{.tile = copy_tile(call.out[0].dtype), .staging = Staging::storage};
}>(elementwise_facts<0>);

}  // namespace tidemark
