#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const auto axis = static_cast<int>(args.attrs<SplitAttrs>().axis);
  const int rank = args.in[0].shape.rank();
  Dims start = Dims::filled(rank, 0);
  for (const TensorRef& part : args.out) {
    copy_elements(part, window(args.in[0], start, Dims::filled(rank, 1), part.shape), *args.pool);
    start[axis] += part.shape[axis];
  }
}

}  // namespace

const CpuKernel cpu::split = cpu_kernel<SplitAttrs>(run, {.strided = takes_any_strides});

}  // namespace tidemark
