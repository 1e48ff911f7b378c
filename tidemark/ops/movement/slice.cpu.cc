#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void run(const KernelArgs& args) {
  const auto& attrs = args.attrs<SliceAttrs>();
  copy_elements(args.out[0], window(args.in[0], attrs.start, attrs.step, args.out[0].shape), *args.pool);
}

Cost cost(const Call& call) { return {.flops = 0, .bytes = 2.0 * static_cast<double>(call.out[0].bytes())}; }

}  // namespace

const CpuKernel cpu::slice = cpu_kernel<SliceAttrs>(run, {.cost = cost, .strided = takes_any_strides});

}  // namespace tidemark
