#include "tidemark/kernel/copy.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::update_slice = cpu_kernel<UpdateSliceAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<UpdateSliceAttrs>();
  const TensorRef &whole = args.out[0], &update = args.in[1];
  copy_elements(whole, args.in[0], *args.pool);  // nothing to do when it runs in place
  if (update.count() > 0)
    copy_elements(window(whole, attrs.start, attrs.step, update.shape), update, *args.pool);
});

}  // namespace tidemark
