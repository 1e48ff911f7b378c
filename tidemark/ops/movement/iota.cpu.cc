#include <algorithm>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::iota = cpu_kernel<IotaAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<IotaAttrs>();
  const auto axis = static_cast<int>(attrs.axis);
  const std::int64_t size = attrs.shape[axis];
  const std::int64_t inner = dense_strides(attrs.shape)[axis];
  dispatch(attrs.dtype, [&]<class T>() {
    T* out = args.out[0].as<T>();
    parallel_for(*args.pool, args.out[0].count(), std::int64_t{1} << 16,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     out[i] = static_cast<T>(static_cast<compute_t<T>>(i / inner % size));
                   }
                 });
  });
});

}  // namespace tidemark
