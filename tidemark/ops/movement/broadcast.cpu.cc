#include "tidemark/kernel/copy.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

namespace {

void run(const KernelArgs& args) {
  const TensorRef& to = args.out[0];
  TensorRef from = args.in[0];
  const int added = to.shape.rank() - from.shape.rank();
  Strides strides = Strides::filled(to.shape.rank(), 0);
  for (int i = 0; i < from.shape.rank(); ++i) {
    if (from.shape[i] != 1) strides[i + added] = from.strides[i];
  }
  from.shape = to.shape;
  from.strides = strides;
  copy_elements(to, from, *args.pool);
}

}  // namespace

const CpuKernel cpu::broadcast = cpu_kernel<BroadcastAttrs>(
    run, {.strided = takes_any_strides, .fusion = is_pointwise}, [](const Call& call) {
      return TileCode{.tile = copy_tile(call.out[0].dtype), .staging = Staging::storage};
    });

}  // namespace tidemark
