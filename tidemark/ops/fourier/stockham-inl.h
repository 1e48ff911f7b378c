// Transforms of smooth length, one per lane: number k of all lanes is `lanes` real parts and as many
// imaginary parts side by side. Each stage of radix r reads r numbers that lie far apart and writes them
// side by side, times roots; after the last all are in order. Compiled once per Highway target.
#if defined(TIDEMARK_OPS_STOCKHAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_STOCKHAM_INL_H_
#undef TIDEMARK_OPS_STOCKHAM_INL_H_
#else
#define TIDEMARK_OPS_STOCKHAM_INL_H_
#endif

#include <utility>

#include "hwy/highway.h"
#include "tidemark/ops/fourier/transform.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {
namespace stockham {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
using Vector = hn::Vec<Tag<T>>;
template <class T>
constexpr std::int64_t lanes = TransformScratch<T>::lanes;

// Its constructors are written out: those that a compiler writes are not compiled for the target.
template <class T>
struct Complex {
  HWY_INLINE Complex() {}
  HWY_INLINE Complex(Vector<T> real, Vector<T> imaginary) : re(real), im(imaginary) {}
  Vector<T> re, im;
};
template <class T>
HWY_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class T>
HWY_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class T>
HWY_INLINE Complex<T> operator*(Complex<T> a, Complex<T> w) {
  return {hn::MulSub(a.re, w.re, hn::Mul(a.im, w.im)), hn::MulAdd(a.re, w.im, hn::Mul(a.im, w.re))};
}
template <class T>
HWY_INLINE Complex<T> scaled(Complex<T> a, T factor) {
  const auto f = hn::Set(Tag<T>(), factor);
  return {hn::Mul(a.re, f), hn::Mul(a.im, f)};
}
// a + f·b
template <class T>
HWY_INLINE Complex<T> plus(Complex<T> a, Complex<T> b, T factor) {
  const auto f = hn::Set(Tag<T>(), factor);
  return {hn::MulAdd(b.re, f, a.re), hn::MulAdd(b.im, f, a.im)};
}
// -i·a
template <class T>
HWY_INLINE Complex<T> turned(Complex<T> a) {
  return {a.im, hn::Neg(a.re)};
}
template <class T>
HWY_INLINE Complex<T> load(const T* at) {
  return {hn::Load(Tag<T>(), at), hn::Load(Tag<T>(), at + lanes<T>)};
}
template <class T>
HWY_INLINE void store(Complex<T> a, T* at) {
  hn::Store(a.re, Tag<T>(), at);
  hn::Store(a.im, Tag<T>(), at + lanes<T>);
}
template <class T>
HWY_INLINE Complex<T> root(const T* pair) {
  return {hn::Set(Tag<T>(), pair[0]), hn::Set(Tag<T>(), pair[1])};
}

// ---- the transform of r numbers in registers

template <class T>
HWY_INLINE void butterfly2(Complex<T>* a) {
  const Complex<T> sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}
template <class T>
HWY_INLINE void butterfly3(Complex<T>* a) {
  constexpr T sine = static_cast<T>(0.86602540378443864676);  // of π/3
  const Complex<T> sum = a[1] + a[2], side = turned(scaled(a[1] - a[2], sine));
  const Complex<T> middle = plus(a[0], sum, T(-0.5));
  a[0] = a[0] + sum;
  a[1] = middle + side;
  a[2] = middle - side;
}
template <class T>
HWY_INLINE void butterfly4(Complex<T>* a) {
  const Complex<T> even = a[0] + a[2], even_less = a[0] - a[2], odd = a[1] + a[3],
                   odd_less = turned(a[1] - a[3]);
  a[0] = even + odd;
  a[1] = even_less + odd_less;
  a[2] = even - odd;
  a[3] = even_less - odd_less;
}
template <class T>
HWY_INLINE void butterfly5(Complex<T>* a) {
  constexpr T cos1 = static_cast<T>(0.30901699437494742410), sin1 = static_cast<T>(0.95105651629515357212);
  constexpr T cos2 = static_cast<T>(-0.80901699437494742410), sin2 = static_cast<T>(0.58778525229247312917);
  const Complex<T> sum1 = a[1] + a[4], less1 = a[1] - a[4], sum2 = a[2] + a[3], less2 = a[2] - a[3];
  const Complex<T> middle1 = plus(plus(a[0], sum1, cos1), sum2, cos2),
                   middle2 = plus(plus(a[0], sum1, cos2), sum2, cos1);
  const Complex<T> side1 = turned(plus(scaled(less1, sin1), less2, sin2)),
                   side2 = turned(plus(scaled(less1, sin2), less2, -sin1));
  a[0] = a[0] + sum1 + sum2;
  a[1] = middle1 + side1;
  a[2] = middle2 + side2;
  a[3] = middle2 - side2;
  a[4] = middle1 - side1;
}
template <class T>
HWY_INLINE void butterfly8(Complex<T>* a) {
  constexpr T half_root = static_cast<T>(0.70710678118654752440);
  Complex<T> even[] = {a[0], a[2], a[4], a[6]}, odd[] = {a[1], a[3], a[5], a[7]};
  butterfly4(even);
  butterfly4(odd);
  odd[1] = scaled(odd[1] + turned(odd[1]), half_root);  // times e^(-πi/4), e^(-2πi/4), e^(-3πi/4)
  odd[2] = turned(odd[2]);
  odd[3] = scaled(turned(odd[3]) - odd[3], half_root);
  for (int k = 0; k < 4; ++k) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}
// Any odd radix, by pairs: its r² products are half as many. `step` apart are the r-th roots in the table.
template <class T>
void butterfly_odd(Complex<T>* a, int radix, const T* roots, std::int64_t step) {
  Complex<T> sums[largest_radix / 2 + 1], less[largest_radix / 2 + 1];
  const int half = radix / 2;
  const Complex<T> first = a[0];
  for (int j = 1; j <= half; ++j) {
    sums[j] = a[j] + a[radix - j];
    less[j] = a[j] - a[radix - j];
    a[0] = a[0] + sums[j];
  }
  for (int k = 1; k <= half; ++k) {
    Complex<T> middle = first, side = scaled(first, T(0));
    for (int j = 1; j <= half; ++j) {
      const T* pair = roots + 2 * (j * k % radix) * step;
      middle = plus(middle, sums[j], pair[0]);
      side = plus(side, less[j], -pair[1]);
    }
    side = turned(side);
    a[k] = middle + side;
    a[radix - k] = middle - side;
  }
}

// ---- stages

// Of n numbers that are `stride` interleaved transforms of length n / stride, the first stage of each.
// `vectors`: how many are not all padding.
template <class T, int fixed_radix, bool with_roots>
void stage(const T* from, T* to, const T* roots, std::int64_t n, std::int64_t stride, int any_radix,
           std::int64_t vectors) {
  constexpr std::int64_t number = 2 * lanes<T>;
  const int radix = fixed_radix ? fixed_radix : any_radix;
  const std::int64_t width = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  const std::int64_t parts = n / stride / radix, apart = n / radix * number;
  for (std::int64_t p = 0; p < parts; ++p) {
    Complex<T> factor[fixed_radix ? fixed_radix : largest_radix];
    if constexpr (with_roots) {
      for (int k = 1; k < radix; ++k) factor[k] = root(roots + 2 * k * p * stride);
    }
    for (std::int64_t q = 0; q < stride; ++q) {
      for (std::int64_t v = 0; v < vectors * width; v += width) {
        const T* source = from + (q + stride * p) * number + v;
        T* target = to + (q + stride * radix * p) * number + v;
        Complex<T> a[fixed_radix ? fixed_radix : largest_radix];
        for (int k = 0; k < radix; ++k) a[k] = load(source + k * apart);
        if constexpr (fixed_radix == 2) {
          butterfly2(a);
        } else if constexpr (fixed_radix == 3) {
          butterfly3(a);
        } else if constexpr (fixed_radix == 4) {
          butterfly4(a);
        } else if constexpr (fixed_radix == 5) {
          butterfly5(a);
        } else if constexpr (fixed_radix == 8) {
          butterfly8(a);
        } else {
          butterfly_odd(a, radix, roots, n / radix);
        }
        store(a[0], target);
        for (int k = 1; k < radix; ++k) {
          if constexpr (with_roots) a[k] = a[k] * factor[k];
          store(a[k], target + k * stride * number);
        }
      }
    }
  }
}

template <class T, bool with_roots>
void any_stage(const T* from, T* to, const T* roots, std::int64_t n, std::int64_t stride, int radix,
               std::int64_t vectors) {
  switch (radix) {
    case 2:
      return stage<T, 2, with_roots>(from, to, roots, n, stride, radix, vectors);
    case 3:
      return stage<T, 3, with_roots>(from, to, roots, n, stride, radix, vectors);
    case 4:
      return stage<T, 4, with_roots>(from, to, roots, n, stride, radix, vectors);
    case 5:
      return stage<T, 5, with_roots>(from, to, roots, n, stride, radix, vectors);
    case 8:
      return stage<T, 8, with_roots>(from, to, roots, n, stride, radix, vectors);
    default:
      return stage<T, 0, with_roots>(from, to, roots, n, stride, radix, vectors);
  }
}

// How many vectors hold this many lanes.
template <class T>
std::int64_t vectors_for(std::int64_t used) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  return (used + width - 1) / width;
}

// The numbers of `from`, transformed; they end up in one of the two buffers, which is returned. `roots` are
// pairs, of the stages' length.
template <class T>
T* transform(const Radices& stages, const T* roots, T* from, T* other, std::int64_t used_lanes) {
  const std::int64_t vectors = vectors_for<T>(used_lanes);
  std::int64_t stride = 1;
  for (int i = 0; i < stages.count; ++i) {
    if (i + 1 < stages.count) {
      any_stage<T, true>(from, other, roots, stages.length, stride, stages.radix[i], vectors);
    } else {
      any_stage<T, false>(from, other, roots, stages.length, stride, stages.radix[i], vectors);
    }
    stride *= stages.radix[i];
    std::swap(from, other);
  }
  return from;
}

}  // namespace stockham
}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
