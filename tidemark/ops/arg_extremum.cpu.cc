#include <algorithm>

#include "tidemark/ops/movement.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// The first of equals; the first NaN beats every number, as in NumPy.
template <bool largest>
void run(const KernelArgs& args) {
  const auto axis = static_cast<int>(args.attrs<AxisAttrs>().axis);
  const TensorRef &x = args.in[0], &y = args.out[0];
  const std::int64_t n = x.shape[axis], step = x.strides[axis];
  Shape kept = x.shape;
  Strides strides = x.strides;
  kept.erase(axis);
  strides.erase(axis);
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / n);
  dispatch(x.dtype, [&]<class T>() {
    parallel_for(*args.pool, y.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* row = x.as<T>() + offset_at(kept, strides, i);
        std::int64_t at = 0;
        auto best = static_cast<compute_t<T>>(row[0]);
        for (std::int64_t k = 1; k < n && best == best; ++k) {
          const auto value = static_cast<compute_t<T>>(row[k * step]);
          if ((largest ? value > best : value < best) || value != value) best = value, at = k;
        }
        y.as<std::int64_t>()[i] = at;
      }
    });
  });
}

}  // namespace

const CpuKernel cpu::argmax = cpu_kernel<AxisAttrs>(run<true>);
const CpuKernel cpu::argmin = cpu_kernel<AxisAttrs>(run<false>);

}  // namespace tidemark
