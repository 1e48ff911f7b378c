// Loads, stores and reductions over rows for kernels compiled once per vector target (Highway's
// foreach_target). 16-bit floats are widened to f32 on the load and rounded once on the store; f64 stays f64.
// The short end of a row goes through the same vector code, padded, so an element's bits do not depend on
// where in a row it lies.
//
// A sum runs in an order fixed by the row's length and the register width, never by threads or addresses.
#if defined(TIDEMARK_OPS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_ROWS_INL_H_
#undef TIDEMARK_OPS_ROWS_INL_H_
#else
#define TIDEMARK_OPS_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/base/dtype.h"
#include "tidemark/kernel/simd_exp-inl.h"
#include "tidemark/ops/normalization/rows.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace rows {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<compute_t<T>>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

// The first `count` elements at p (1 ≤ count ≤ lanes); lanes beyond them hold 0.
template <class T, class D>
HWY_INLINE hn::Vec<D> load(D d, const T* p, std::size_t count) {
  using W = hn::TFromD<D>;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (std::is_same_v<T, W>) {
    if (HWY_LIKELY(count == lanes)) return hn::LoadU(d, p);
    HWY_ALIGN W padded[hn::MaxLanes(d)] = {};
    std::memcpy(padded, p, count * sizeof(W));
    return hn::Load(d, padded);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::RebindToUnsigned<D> d32;
    if (HWY_LIKELY(count == lanes)) {
      const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p));
      return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
    }
    HWY_ALIGN W padded[hn::MaxLanes(d)] = {};
    for (std::size_t i = 0; i < count; ++i) padded[i] = static_cast<W>(static_cast<float>(p[i]));
    return hn::Load(d, padded);
  } else {
    HWY_ALIGN W padded[hn::MaxLanes(d)] = {};
    for (std::size_t i = 0; i < count; ++i) padded[i] = static_cast<W>(p[i]);
    return hn::Load(d, padded);
  }
}

template <class T, class D>
HWY_INLINE void store(D d, T* p, std::size_t count, hn::Vec<D> v) {
  using W = hn::TFromD<D>;
  if constexpr (std::is_same_v<T, W>) {
    if (HWY_LIKELY(count == hn::Lanes(d))) {
      hn::StoreU(v, d, p);
    } else {
      HWY_ALIGN W padded[hn::MaxLanes(d)];
      hn::Store(v, d, padded);
      std::memcpy(p, padded, count * sizeof(W));
    }
  } else {
    HWY_ALIGN W padded[hn::MaxLanes(d)];
    hn::Store(v, d, padded);
    for (std::size_t i = 0; i < count; ++i) p[i] = T(padded[i]);
  }
}

// e^x, and for x ≤ 0 (or NaN), as after a maximum was taken off.
template <class D>
HWY_INLINE hn::Vec<D> exp(D, hn::Vec<D> x) {
  return HWY_NAMESPACE::exp(Lanes<hn::TFromD<D>>{x}).v;
}
template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative(D, hn::Vec<D> x) {
  return HWY_NAMESPACE::exp_of_negative(Lanes<hn::TFromD<D>>{x}).v;
}

template <class D>
HWY_INLINE hn::Vec<D> exp2_of_negative(D, hn::Vec<D> x) {
  return HWY_NAMESPACE::exp2_of_negative(Lanes<hn::TFromD<D>>{x}).v;
}

// Σ f(i, count) over [0, n) in vectors, where f gives `count` terms starting at i.
template <class D, class F>
HWY_INLINE hn::TFromD<D> sum(D d, std::size_t n, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, f(i, lanes));
    b = hn::Add(b, f(i + lanes, lanes));
    c = hn::Add(c, f(i + 2 * lanes, lanes));
    e = hn::Add(e, f(i + 3 * lanes, lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, f(i, lanes));
  if (i < n) b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(d, n - i), f(i, n - i)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// Two sums in one pass, of what f(i, count) gives; each in an order of its own kind, fixed as above.
template <class W>
struct Pair {
  W first, second;
};
template <class D>
struct VectorPair {
  hn::Vec<D> first, second;
};
template <class D, class F>
HWY_INLINE Pair<hn::TFromD<D>> sum_pair(D d, std::size_t n, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VectorPair<D> x = f(i, lanes), y = f(i + lanes, lanes);
    a = hn::Add(a, x.first), b = hn::Add(b, y.first);
    c = hn::Add(c, x.second), e = hn::Add(e, y.second);
  }
  for (; i < n; i += lanes) {
    const std::size_t count = std::min(lanes, n - i);
    const VectorPair<D> x = f(i, count);
    const auto some = hn::FirstN(d, count);
    a = hn::Add(a, hn::IfThenElseZero(some, x.first));
    c = hn::Add(c, hn::IfThenElseZero(some, x.second));
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))), hn::GetLane(hn::SumOfLanes(d, hn::Add(c, e)))};
}

// The largest of f(i, count) over [0, n); -inf for n = 0. NaN may be lost: it comes back through x - max.
template <class D, class F>
HWY_INLINE hn::TFromD<D> max(D d, std::size_t n, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity());
  auto a = lowest, b = lowest;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Max(a, f(i, lanes));
    b = hn::Max(b, f(i + lanes, lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, f(i, lanes));
  if (i < n) b = hn::Max(b, hn::IfThenElse(hn::FirstN(d, n - i), f(i, n - i), lowest));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

// out[i] = f(i), vector by vector, four at a time. `out` may be what f reads, but only in place.
template <class T, class D, class F>
HWY_INLINE void map(D d, std::size_t n, T* out, const F& f) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto a = f(i, lanes), b = f(i + lanes, lanes), c = f(i + 2 * lanes, lanes),
               e = f(i + 3 * lanes, lanes);
    store(d, out + i, lanes, a);
    store(d, out + i + lanes, lanes, b);
    store(d, out + i + 2 * lanes, lanes, c);
    store(d, out + i + 3 * lanes, lanes, e);
  }
  for (; i < n; i += lanes) {
    const std::size_t count = std::min(lanes, n - i);
    store(d, out + i, count, f(i, count));
  }
}

}  // namespace rows
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
