#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::reshape = cpu_kernel<ReshapeAttrs>([](const KernelArgs& args) {
  const TensorRef& from = args.in[0];
  if (from.dense() && args.out[0].data == from.data) return;
  TensorRef to = from;  // the result has the same row-major order, so it may be seen in the operand's shape
  to.data = args.out[0].data;
  to.strides = dense_strides(from.shape);
  copy_elements(to, from, *args.pool);
});

}  // namespace tidemark
