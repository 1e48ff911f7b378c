#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  TensorRef from = args.in[0];
  if (from.count() == 0) return;
  Dims start = Dims::filled(from.shape.rank(), 0), step = Dims::filled(from.shape.rank(), 1);
  for (std::int64_t a : args.attrs<AxesAttrs>().axes) {
    const auto axis = static_cast<int>(a);
    start[axis] = from.shape[axis] - 1;
    step[axis] = -1;
  }
  copy_elements(args.out[0], window(from, start, step, from.shape), *args.pool);
}

}  // namespace

const CpuKernel cpu::flip = cpu_kernel<AxesAttrs>(run, {.strided = takes_any_strides});

}  // namespace tidemark
