// Compiled once per SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/scalar/clamp.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/kernel/tile.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/clamp.h"
#include "tidemark/ops/scalar/clamp_element.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
T bound(double value) {
  if constexpr (std::is_integral_v<T>) {
    return saturated<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
void clamp_tile(const TileArgs& args) {
  const auto& attrs = *static_cast<const ClampAttrs*>(args.attributes);
  const T low = bound<T>(attrs.low), high = bound<T>(attrs.high);
  const T* x = args.operand<T>(0);
  T* z = args.result<T>();
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto lows = hn::Set(d, low), highs = hn::Set(d, high);
  std::int64_t i = 0;
  // Written so that NaN stays NaN.
  for (; i + lanes <= args.n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::IfThenElse(hn::Lt(v, lows), lows, hn::IfThenElse(hn::Gt(v, highs), highs, v)), d, z + i);
  }
  for (; i < args.n; ++i) z[i] = clamp_element(x[i], low, high);
}

Tile find_clamp_tile(DType compute) {
  switch (compute) {
    case DType::f64:
      return clamp_tile<double>;
    case DType::i32:
      return clamp_tile<std::int32_t>;
    case DType::i64:
      return clamp_tile<std::int64_t>;
    case DType::u8:
      return clamp_tile<std::uint8_t>;
    default:
      return clamp_tile<float>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {
HWY_EXPORT(find_clamp_tile);
}

const CpuKernel cpu::clamp = tile_kernel<[](const Call& call) {
  return TileCode{.tile = HWY_DYNAMIC_DISPATCH(find_clamp_tile)(compute_dtype(call.in[0].dtype)),
                  .attributes = std::make_shared<const ClampAttrs>(call.attrs_as<ClampAttrs>())};
}>(elementwise_facts<2>);

}  // namespace tidemark
#endif
