// A formula as a tile of vectors. Compiled once per Highway target.
#if defined(TIDEMARK_OPS_ELEMENTWISE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_ELEMENTWISE_TILES_INL_H_
#undef TIDEMARK_OPS_ELEMENTWISE_TILES_INL_H_
#else
#define TIDEMARK_OPS_ELEMENTWISE_TILES_INL_H_
#endif

#include <algorithm>
#include <numbers>

#include "tidemark/kernel/simd_math-inl.h"
#include "tidemark/kernel/tile.h"
#include "tidemark/ops/scalar/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace formula {
#include "tidemark/ops/scalar/scalar_math.inc"
}  // namespace formula

// Exact, and rare enough to go lane by lane.
template <class T>
HWY_INLINE Lanes<T> mod(Lanes<T> x, Lanes<T> y) {
  return each_lane([](T a, T b) { return tidemark::formula::mod(a, b); }, x, y);
}
template <class T>
HWY_INLINE Lanes<T> erfinv(Lanes<T> x) {
  return each_lane([](T a) { return tidemark::formula::erfinv(a); }, x);
}
template <class T>
HWY_INLINE Lanes<T> lgamma(Lanes<T> x) {
  return each_lane([](T a) { return tidemark::formula::lgamma(a); }, x);
}
template <class T>
HWY_INLINE Lanes<T> digamma(Lanes<T> x) {
  return each_lane([](T a) { return tidemark::formula::digamma(a); }, x);
}
template <class T>
HWY_INLINE Lanes<T> gelu_slope(Lanes<T> x) {
  return formula::GeluSlope::value(x);
}

// Calls body(operands, result) for each whole vector and once more for what remains: the same vector code on
// a padded copy, so that an element's bits do not depend on its place.
template <class T, class R, int operands, class Body>
HWY_INLINE void for_each_vector(const TileArgs& args, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>())), n = args.n;
  const T* in[operands];
  for (int k = 0; k < operands; ++k) in[k] = args.operand<T>(k);
  R* const out = args.result<R>();
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const T* at[operands];
    for (int k = 0; k < operands; ++k) at[k] = in[k] + i;
    body(at, out + i);
  }
  if (i == n) return;
  const std::int64_t rest = n - i;
  HWY_ALIGN T padded[operands][hn::MaxLanes(Tag<T>())];
  HWY_ALIGN R result[hn::MaxLanes(Tag<T>())];
  const T* at[operands];
  for (int k = 0; k < operands; ++k) {
    for (std::int64_t j = 0; j < lanes; ++j) padded[k][j] = in[k][i + std::min(j, rest - 1)];
    at[k] = padded[k];
  }
  body(at, result);
  std::copy_n(result, rest, out + i);
}

// Four vectors at a time: each is a long chain of instructions, and four chains keep the pipes busy.
template <class F, class T>
void unary_tile(const TileArgs& args) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  const T* const x = args.operand<T>(0);
  T* const z = args.result<T>();
  std::int64_t i = 0;
  for (; i + 4 * lanes <= args.n; i += 4 * lanes) {
    const Lanes<T> a = load_lanes(x + i), b = load_lanes(x + i + lanes), c = load_lanes(x + i + 2 * lanes),
                   d = load_lanes(x + i + 3 * lanes);
    const Lanes<T> fa = F::value(a), fb = F::value(b), fc = F::value(c), fd = F::value(d);
    store_lanes(fa, z + i);
    store_lanes(fb, z + i + lanes);
    store_lanes(fc, z + i + 2 * lanes);
    store_lanes(fd, z + i + 3 * lanes);
  }
  TileArgs rest = args;
  rest.in[0] = reinterpret_cast<const std::byte*>(x + i);
  rest.out = reinterpret_cast<std::byte*>(z + i);
  rest.n -= i;
  for_each_vector<T, T, 1>(
      rest, [](const T* const* at, T* to) HWY_ATTR { store_lanes(F::value(load_lanes(at[0])), to); });
}
template <class F, class T>
void binary_tile(const TileArgs& args) {
  for_each_vector<T, T, 2>(args, [](const T* const* x, T* z) HWY_ATTR {
    store_lanes(F::value(load_lanes(x[0]), load_lanes(x[1])), z);
  });
}

// Truths as bytes 0 and 1.
template <class T>
HWY_INLINE void store_truths(Truths<T> x, std::uint8_t* z) {
  const hn::RebindToUnsigned<Tag<T>> du;
  const hn::Rebind<std::uint8_t, Tag<T>> bytes;
  const auto ones = hn::And(hn::BitCast(du, hn::VecFromMask(Tag<T>(), x.m)), hn::Set(du, 1));
  hn::StoreU(hn::TruncateTo(bytes, ones), bytes, z);
}
template <class F, class T>
void predicate_tile(const TileArgs& args) {
  for_each_vector<T, std::uint8_t, 2>(args, [](const T* const* x, std::uint8_t* z) HWY_ATTR {
    store_truths<T>(F::value(load_lanes(x[0]), load_lanes(x[1])), z);
  });
}

template <class F>
Tile float_unary(DType compute) {
  return compute == DType::f32   ? unary_tile<F, float>
         : compute == DType::f64 ? unary_tile<F, double>
                                 : nullptr;
}
template <class F>
Tile float_binary(DType compute) {
  return compute == DType::f32   ? binary_tile<F, float>
         : compute == DType::f64 ? binary_tile<F, double>
                                 : nullptr;
}
template <class F>
Tile float_predicate(DType compute) {
  return compute == DType::f32   ? predicate_tile<F, float>
         : compute == DType::f64 ? predicate_tile<F, double>
                                 : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
