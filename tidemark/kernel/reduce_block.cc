#include "tidemark/kernel/reduce_block.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/reduce_block.cc"
#include <hwy/foreach_target.h>  // first: compiles the rest once per target

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct Add {
  template <class V>
  static HWY_INLINE V two(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Mul {
  template <class V>
  static HWY_INLINE V two(V a, V b) {
    return hn::Mul(a, b);
  }
};
// Also for integers, where it is never so. (Highway's Ne is false for NaN on x86-64.)
template <class V>
HWY_INLINE auto is_nan(V x) {
  return hn::Not(hn::Eq(x, x));
}
struct Max {
  template <class V>
  static HWY_INLINE V two(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), is_nan(b)), b, a);
  }
};
struct Min {
  template <class V>
  static HWY_INLINE V two(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), is_nan(b)), b, a);
  }
};

template <class C>
using Lanes16 = hn::CappedTag<C, fold_lanes>;

// Leaves the 16 lanes of n elements, n a multiple of 16, in `lanes`.
template <class F, class C>
void fold_into_lanes(const C* x, std::int64_t n, C* lanes) {
  const Lanes16<C> d;
  constexpr std::int64_t width = hn::MaxLanes(Lanes16<C>()), vectors = fold_lanes / width;
  hn::Vec<Lanes16<C>> acc[vectors];
  for (std::int64_t v = 0; v < vectors; ++v) acc[v] = hn::LoadU(d, lanes + v * width);
  for (std::int64_t i = 0; i < n; i += fold_lanes) {
    for (std::int64_t v = 0; v < vectors; ++v) acc[v] = F::two(acc[v], hn::LoadU(d, x + i + v * width));
  }
  for (std::int64_t v = 0; v < vectors; ++v) hn::StoreU(acc[v], d, lanes + v * width);
}

template <class F, class C>
void fold_rows(C* to, const C* row, std::int64_t n) {
  const hn::ScalableTag<C> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + width <= n; i += width)
    hn::StoreU(F::two(hn::LoadU(d, to + i), hn::LoadU(d, row + i)), d, to + i);
  const hn::CappedTag<C, 1> one;
  for (; i < n; ++i) hn::StoreU(F::two(hn::LoadU(one, to + i), hn::LoadU(one, row + i)), one, to + i);
}

template <class C>
void lanes_of(Fold fold, const C* x, std::int64_t n, C* lanes) {
  switch (fold) {
    case Fold::sum:
      return fold_into_lanes<Add>(x, n, lanes);
    case Fold::prod:
      return fold_into_lanes<Mul>(x, n, lanes);
    case Fold::max:
      return fold_into_lanes<Max>(x, n, lanes);
    case Fold::min:
      return fold_into_lanes<Min>(x, n, lanes);
  }
}
template <class C>
void rows_of(Fold fold, C* to, const C* row, std::int64_t n) {
  switch (fold) {
    case Fold::sum:
      return fold_rows<Add>(to, row, n);
    case Fold::prod:
      return fold_rows<Mul>(to, row, n);
    case Fold::max:
      return fold_rows<Max>(to, row, n);
    case Fold::min:
      return fold_rows<Min>(to, row, n);
  }
}

template <class C>
void exp_in_place(C* x, std::int64_t n) {
  const hn::ScalableTag<C> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + width <= n; i += width) hn::StoreU(hn::Exp(d, hn::LoadU(d, x + i)), d, x + i);
  // The rest goes through a whole vector too: the same instructions, so the same bits, at any position.
  if (i < n) {
    HWY_ALIGN C rest[hn::MaxLanes(d)] = {};
    std::copy(x + i, x + n, rest);
    hn::Store(hn::Exp(d, hn::Load(d, rest)), d, rest);
    std::copy(rest, rest + (n - i), x + i);
  }
}

}  // namespace

void LanesF32(Fold fold, const float* x, std::int64_t n, float* lanes) { lanes_of(fold, x, n, lanes); }
void LanesF64(Fold fold, const double* x, std::int64_t n, double* lanes) { lanes_of(fold, x, n, lanes); }
void RowsF32(Fold fold, float* to, const float* row, std::int64_t n) { rows_of(fold, to, row, n); }
void RowsF64(Fold fold, double* to, const double* row, std::int64_t n) { rows_of(fold, to, row, n); }
void ExpF32(float* x, std::int64_t n) { exp_in_place(x, n); }
void ExpF64(double* x, std::int64_t n) { exp_in_place(x, n); }

void WidenF16(const Float16* from, float* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> d16;
  const auto* source = reinterpret_cast<const hwy::float16_t*>(from);
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + width <= n; i += width) hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, source + i)), d, to + i);
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {

HWY_EXPORT(LanesF32);
HWY_EXPORT(LanesF64);
HWY_EXPORT(RowsF32);
HWY_EXPORT(RowsF64);
HWY_EXPORT(ExpF32);
HWY_EXPORT(ExpF64);
HWY_EXPORT(WidenF16);

template <class C>
C fold_run(Fold fold, const C* x, std::int64_t n) {
  alignas(64) C lanes[fold_lanes];
  std::fill_n(lanes, fold_lanes, fold_identity<C>(fold));
  const std::int64_t even = n / fold_lanes * fold_lanes;
  if constexpr (std::is_same_v<C, float>) {
    HWY_DYNAMIC_DISPATCH(LanesF32)(fold, x, even, lanes);
  } else if constexpr (std::is_same_v<C, double>) {
    HWY_DYNAMIC_DISPATCH(LanesF64)(fold, x, even, lanes);
  } else {
    for (std::int64_t i = 0; i < even; ++i)
      lanes[i % fold_lanes] = fold_two(fold, lanes[i % fold_lanes], x[i]);
  }
  for (std::int64_t i = even; i < n; ++i) lanes[i - even] = fold_two(fold, lanes[i - even], x[i]);
  for (std::int64_t half = fold_lanes / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) lanes[l] = fold_two(fold, lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <class C>
void fold_row(Fold fold, C* to, const C* row, std::int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    HWY_DYNAMIC_DISPATCH(RowsF32)(fold, to, row, n);
  } else if constexpr (std::is_same_v<C, double>) {
    HWY_DYNAMIC_DISPATCH(RowsF64)(fold, to, row, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = fold_two(fold, to[i], row[i]);
  }
}

#define TM_FOLD(C)                                      \
  template C fold_run<C>(Fold, const C*, std::int64_t); \
  template void fold_row<C>(Fold, C*, const C*, std::int64_t);
TM_FOLD(float)
TM_FOLD(double)
TM_FOLD(std::int64_t)
#undef TM_FOLD

void widen_row(const BFloat16* from, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
void widen_row(const Float16* from, float* to, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(WidenF16)(from, to, n);
}

void exp_row(float* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(ExpF32)(x, n); }
void exp_row(double* x, std::int64_t n) { HWY_DYNAMIC_DISPATCH(ExpF64)(x, n); }

}  // namespace tidemark
#endif
