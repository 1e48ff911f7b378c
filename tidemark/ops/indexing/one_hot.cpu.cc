#include <algorithm>
#include <cstring>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/index_cpu.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

const CpuKernel cpu::one_hot = cpu_kernel<OneHotAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<OneHotAttrs>();
  const TensorRef &indices = args.in[0], &out = args.out[0];
  check_indices(args, indices, attrs.classes, "one_hot");
  if (out.count() == 0) return;
  const std::int64_t element = size_of(attrs.dtype), row = attrs.classes * element;
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 17) / row);
  with_indices(indices, [&](const auto* index) {
    dispatch(attrs.dtype, [&]<class T>() {
      parallel_for(*args.pool, indices.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        std::memset(out.data + begin * row, 0, static_cast<std::size_t>((end - begin) * row));
        for (std::int64_t i = begin; i < end; ++i) {
          out.as<T>()[i * attrs.classes + index[i]] = static_cast<T>(compute_t<T>(1));
        }
      });
    });
  });
});

}  // namespace tidemark
