#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::transpose = cpu_kernel<TransposeAttrs>([](const KernelArgs& args) {
  const Dims& order = args.attrs<TransposeAttrs>().order;
  TensorRef from = args.in[0];
  from.shape = args.out[0].shape;
  for (int i = 0; i < order.rank(); ++i) from.strides[i] = args.in[0].strides[static_cast<int>(order[i])];
  copy_elements(args.out[0], from, *args.pool);
});

}  // namespace tidemark
