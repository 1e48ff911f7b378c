#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const TensorRef& from = args.in[0];
  if (from.dense() && args.out[0].data == from.data) return;
  TensorRef to = from;  // the result has the same row-major order, so it may be seen in the operand's shape
  to.data = args.out[0].data;
  to.strides = dense_strides(from.shape);
  copy_elements(to, from, *args.pool);
}

}  // namespace

const CpuKernel cpu::reshape = cpu_kernel<ReshapeAttrs>(
    run, {.in_place = [](const Call& call, int, int) { return call.is_dense_operand(0); },
          .strided = takes_any_strides});

}  // namespace tidemark
