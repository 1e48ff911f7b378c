#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::slice = cpu_kernel<SliceAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<SliceAttrs>();
  copy_elements(args.out[0], window(args.in[0], attrs.start, attrs.step, args.out[0].shape), *args.pool);
});

}  // namespace tidemark
