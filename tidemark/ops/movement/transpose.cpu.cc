#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const Dims& order = args.attrs<TransposeAttrs>().order;
  TensorRef from = args.in[0];
  from.shape = args.out[0].shape;
  for (int i = 0; i < order.rank(); ++i) from.strides[i] = args.in[0].strides[static_cast<int>(order[i])];
  copy_elements(args.out[0], from, *args.pool);
}

// When the last dimension moves, lines are read in blocks, through a buffer.
Cost cost(const Call& call) {
  const Dims order = call.attrs_as<TransposeAttrs>().order;
  const bool blocked = order.rank() > 0 && order.back() != order.rank() - 1;
  return {.bytes = (blocked ? 2 : 1) * bytes_moved(call)};
}

}  // namespace

const CpuKernel cpu::transpose =
    cpu_kernel<TransposeAttrs>(run, {.cost = cost, .strided = takes_any_strides});

}  // namespace tidemark
