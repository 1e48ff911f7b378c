#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const auto axis = static_cast<int>(args.attrs<AxisAttrs>().axis);
  const int rank = args.out[0].shape.rank();
  Dims start = Dims::filled(rank, 0);
  for (const TensorRef& part : args.in) {
    copy_elements(window(args.out[0], start, Dims::filled(rank, 1), part.shape), part, *args.pool);
    start[axis] += part.shape[axis];
  }
}

}  // namespace

const CpuKernel cpu::concat = cpu_kernel<AxisAttrs>(run, {.strided = takes_any_strides});

}  // namespace tidemark
