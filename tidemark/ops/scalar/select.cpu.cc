// By element size alone: select only moves elements. Compiled once per SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/scalar/select.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "tidemark/kernel/tile.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise_facts.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The truth values at p, one per lane of T.
template <class T>
HWY_INLINE hn::Mask<hn::ScalableTag<T>> load_truths(const std::uint8_t* p) {
  const hn::ScalableTag<T> d;
  const auto bytes = hn::LoadU(hn::Rebind<std::uint8_t, hn::ScalableTag<T>>(), p);
  if constexpr (sizeof(T) == 1) {
    return hn::Ne(bytes, hn::Zero(d));
  } else if constexpr (sizeof(T) == 8) {
    const auto words = hn::PromoteTo(hn::Rebind<std::uint32_t, hn::ScalableTag<T>>(), bytes);
    return hn::Ne(hn::PromoteTo(d, words), hn::Zero(d));
  } else {
    return hn::Ne(hn::PromoteTo(d, bytes), hn::Zero(d));
  }
}

template <class T>
void select_tile(const TileArgs& args) {
  const hn::ScalableTag<T> d;
  const auto* condition = args.operand<std::uint8_t>(0);
  const T *a = args.operand<T>(1), *b = args.operand<T>(2);
  T* z = args.result<T>();
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= args.n; i += lanes) {
    hn::StoreU(hn::IfThenElse(load_truths<T>(condition + i), hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d,
               z + i);
  }
  for (; i < args.n; ++i) z[i] = condition[i] ? a[i] : b[i];
}

Tile find_select_tile(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return select_tile<std::uint8_t>;
    case 2:
      return select_tile<std::uint16_t>;
    case 4:
      return select_tile<std::uint32_t>;
    default:
      return select_tile<std::uint64_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {
HWY_EXPORT(find_select_tile);
}

const CpuKernel cpu::select = tile_kernel<[](const Call& call) {
  return TileCode{.tile = HWY_DYNAMIC_DISPATCH(find_select_tile)(size_of(call.out[0].dtype)),
                  .op = TileOp::select,
                  .staging = Staging::storage};
}>(elementwise_facts<2>);

}  // namespace tidemark
#endif
