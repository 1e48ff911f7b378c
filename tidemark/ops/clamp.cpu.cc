#include "tidemark/ops/clamp.h"

#include <algorithm>
#include <limits>

#include "tidemark/kernel/elementwise.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <class T>
T bound(double value) {
  if constexpr (std::is_integral_v<T>) {
    // 2^63 as a double is just above the largest i64, so compare before converting.
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

template <class T>
void tile(const TileArgs& args) {
  const auto& attrs = *static_cast<const ClampAttrs*>(args.attributes);
  const T low = bound<T>(attrs.low), high = bound<T>(attrs.high);
  const T* x = args.operand<T>(0);
  T* z = args.result<T>();
  // Written so that NaN stays NaN.
  for (std::int64_t i = 0; i < args.n; ++i) z[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

Tile tile_of(DType compute) {
  switch (compute) {
    case DType::f64:
      return tile<double>;
    case DType::i32:
      return tile<std::int32_t>;
    case DType::i64:
      return tile<std::int64_t>;
    case DType::u8:
      return tile<std::uint8_t>;
    default:
      return tile<float>;
  }
}

}  // namespace

const CpuKernel cpu::clamp = cpu_kernel<ClampAttrs>(
    [](const KernelArgs& args) { run_elementwise(args, tile_of(compute_dtype(args.in[0].dtype))); });

}  // namespace tidemark
