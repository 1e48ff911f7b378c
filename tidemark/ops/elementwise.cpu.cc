#include "tidemark/ops/elementwise_tiles.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

#define TM_KERNEL(name, family)                                                         \
  const CpuKernel cpu::name = tile_kernel<[](const Call& call) {                        \
    return TileCode{.tile = family##_tile(Row::name, compute_dtype(call.in[0].dtype))}; \
  }>();
#define TM_UNARY(name, Formula, family, ...) TM_KERNEL(name, family)
#define TM_BINARY(name, Formula, family, ...) TM_KERNEL(name, family)
#include "tidemark/ops/elementwise.def"

}  // namespace tidemark
