// Numbers on their way between a tensor and the buffers of a transform. What stands in a buffer are the
// `points` of the complex transform: a real tensor of even length has its neighbours there as real and
// imaginary parts, which the formulas below join and part again. Compiled once per Highway target.
#if defined(TIDEMARK_OPS_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_POINTS_INL_H_
#undef TIDEMARK_OPS_POINTS_INL_H_
#else
#define TIDEMARK_OPS_POINTS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "tidemark/kernel/args.h"
#include "tidemark/ops/fourier/transform.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// One transform's numbers in a tensor.
template <class T>
struct Line {
  T* at;
  std::int64_t step, part;  // to the next number, and from real to imaginary part

  // Parts are neighbours, and numbers too: of real numbers, two make one if they are `packed`.
  bool neighbours(bool packed) const { return packed ? step == 1 : step == 2 && part == 1; }
  T re(std::int64_t k) const { return at[k * step]; }
  T im(std::int64_t k) const { return at[k * step + part]; }
  void put(std::int64_t k, T re, T im) const {
    at[k * step] = re;
    at[k * step + part] = im;
  }
};

// All transforms of a tensor along one axis. Of complex numbers, `pairs`, the last axis is that of the parts.
template <class T>
class Lines {
 public:
  Lines(const TensorRef& x, int axis, bool pairs) : shape_(x.shape), strides_(x.strides) {
    line_ = {x.as<T>(), x.strides[axis], pairs ? x.strides[x.strides.rank() - 1] : 0};
    if (pairs) {
      shape_.erase(shape_.rank() - 1);
      strides_.erase(strides_.rank() - 1);
    }
    shape_.erase(axis);
    strides_.erase(axis);
  }
  std::int64_t count() const { return element_count(shape_); }
  bool neighbours(bool packed) const { return line_.neighbours(packed); }
  Line<T> operator[](std::int64_t transform) const {
    return {line_.at + offset_at(shape_, strides_, transform), line_.step, line_.part};
  }

 private:
  Shape shape_;
  Strides strides_;
  Line<T> line_;
};

template <class T>
struct Parts {
  T re, im;
};

// The same in a buffer. To make real and imaginary parts change places, the pointers do.
template <class T>
struct Points {
  T *re, *im;
  std::int64_t step;

  HWY_INLINE void put(std::int64_t k, T a, T b) const {
    re[k * step] = a;
    im[k * step] = b;
  }
  HWY_INLINE Parts<T> get(std::int64_t k) const { return {re[k * step], im[k * step]}; }
};
template <class T>
Points<T> points_at(T* re, T* im, std::int64_t step, bool swap) {
  return swap ? Points<T>{im, re, step} : Points<T>{re, im, step};
}

// Pairs parted into real and imaginary parts, and joined.
template <class T>
void load_neighbours(const T* pairs, T* re, T* im, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t k = 0;
  for (; k + width <= count; k += width) {
    hn::Vec<decltype(d)> a, b;
    hn::LoadInterleaved2(d, pairs + 2 * k, a, b);
    hn::StoreU(a, d, re + k);
    hn::StoreU(b, d, im + k);
  }
  for (; k < count; ++k) re[k] = pairs[2 * k], im[k] = pairs[2 * k + 1];
}
template <class T>
void store_neighbours(const T* re, const T* im, T scale, T* pairs, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  std::int64_t k = 0;
  for (; k + width <= count; k += width) {
    const auto a = hn::Mul(hn::LoadU(d, re + k), factor), b = hn::Mul(hn::LoadU(d, im + k), factor);
    hn::StoreInterleaved2(a, b, d, pairs + 2 * k);
  }
  for (; k < count; ++k) pairs[2 * k] = re[k] * scale, pairs[2 * k + 1] = im[k] * scale;
}

// Frequencies k and h - k of n = 2h real numbers and points k and h - k of their h packed pairs are made of
// each other: with E = Z_k + Z̄_{h-k} and F = i e^(iθ) (Z_k - Z̄_{h-k}) these are E + F and the conjugate
// of E - F. θ is 2πk/n from frequencies to points; the way back it is π - 2πk/n, and E and F are halved.
template <class T>
struct Mirrored {
  Parts<T> here, there;
};
template <class T>
HWY_INLINE Mirrored<T> mirrored(Parts<T> a, Parts<T> b, T cosine, T sine) {
  const T er = a.re + b.re, ei = a.im - b.im, dr = a.re - b.re, di = a.im + b.im;
  const T fr = -(sine * dr + cosine * di), fi = cosine * dr - sine * di;
  return {{er + fr, ei + fi}, {er - fr, fi - ei}};
}

// What tasks count along a transform: frequencies that are made in pairs up to the middle, all else singly.
inline std::int64_t loaded_points(const TransformForm& form) {
  const bool mirrored = form.kind == TransformKind::half_to_real && form.packed;
  return mirrored ? form.by.points / 2 + 1 : form.by.points;
}
inline std::int64_t stored_points(const TransformForm& form) {
  if (form.kind != TransformKind::real_to_half) return form.by.points;
  return (form.packed ? form.by.points : form.length) / 2 + 1;
}

// The share [begin, end) of `loaded_points` of one transform. `roots`: e^(-2πi k/n), k up to half the points.
template <class T>
void load_points(const TransformForm& form, const Line<const T>& x, const Points<T>& z, const T* roots,
                 std::int64_t begin, std::int64_t end) {
  const std::int64_t h = form.by.points, n = form.length;
  const T inner = static_cast<T>(form.inner / 2);  // each of them is met twice, as itself and as a conjugate
  if (form.pairs_in() && z.step == 1 && x.neighbours(form.packed)) {
    load_neighbours(x.at + 2 * begin, z.re + begin, z.im + begin, end - begin);
  } else if (form.kind == TransformKind::complex) {
    for (std::int64_t k = begin; k < end; ++k) z.put(k, x.re(k), x.im(k));
  } else if (form.kind == TransformKind::real_to_half) {
    if (form.packed) {
      for (std::int64_t k = begin; k < end; ++k) z.put(k, x.re(2 * k), x.re(2 * k + 1));
    } else {
      for (std::int64_t k = begin; k < end; ++k) z.put(k, x.re(k), T(0));
    }
  } else if (form.packed) {
    if (begin == 0) z.put(0, x.re(0) + x.re(h), x.re(0) - x.re(h));
    for (std::int64_t k = std::max<std::int64_t>(begin, 1); k < end; ++k) {
      const Parts<T> a = {x.re(k) * inner, x.im(k) * inner}, b = {x.re(h - k) * inner, x.im(h - k) * inner};
      const Mirrored<T> both = mirrored(a, b, roots[2 * k], -roots[2 * k + 1]);
      z.put(h - k, both.there.re, both.there.im);
      z.put(k, both.here.re, both.here.im);
    }
  } else {
    for (std::int64_t k = begin; k < end; ++k) {
      if (k == 0) {
        z.put(0, x.re(0), T(0));
      } else if (2 * k < n) {
        z.put(k, x.re(k) * inner, x.im(k) * inner);
      } else {
        z.put(k, x.re(n - k) * inner, -x.im(n - k) * inner);
      }
    }
  }
}

// The share [begin, end) of `stored_points` of one transform, from its points.
template <class T>
void store_points(const TransformForm& form, const Points<T>& z, const Line<T>& y, const T* roots,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t h = form.by.points;
  const T scale = static_cast<T>(form.scale), inner = static_cast<T>(form.scale * form.inner);
  if (form.pairs_out() && z.step == 1 && y.neighbours(form.packed)) {
    store_neighbours(z.re + begin, z.im + begin, scale, y.at + 2 * begin, end - begin);
  } else if (form.kind == TransformKind::complex) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Parts<T> value = z.get(k);
      y.put(k, value.re * scale, value.im * scale);
    }
  } else if (form.kind == TransformKind::half_to_real) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Parts<T> value = z.get(k);
      if (form.packed) {
        y.at[2 * k * y.step] = value.re * scale;
        y.at[(2 * k + 1) * y.step] = value.im * scale;
      } else {
        y.at[k * y.step] = value.re * scale;
      }
    }
  } else {
    if (begin == 0) {
      const Parts<T> first = z.get(0);
      y.put(0, (form.packed ? first.re + first.im : first.re) * scale, T(0));
      if (form.packed) y.put(h, (first.re - first.im) * scale, T(0));
    }
    const T half = inner / 2;
    for (std::int64_t k = std::max<std::int64_t>(begin, 1); k < end; ++k) {
      if (form.packed) {
        const Mirrored<T> both = mirrored(z.get(k), z.get(h - k), -roots[2 * k], -roots[2 * k + 1]);
        y.put(h - k, both.there.re * half, both.there.im * half);
        y.put(k, both.here.re * half, both.here.im * half);
      } else {
        const Parts<T> value = z.get(k);
        y.put(k, value.re * inner, value.im * inner);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
