// Vectors as numbers: Lanes<float>, Lanes<double> with operators, so that a formula written for a double is
// also a vector kernel. Compiled once per Highway target; include it from a file that uses
// hwy/foreach_target.h. Each lane's bits depend on that lane alone.
#if defined(TIDEMARK_KERNEL_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_SIMD_INL_H_
#undef TIDEMARK_KERNEL_SIMD_INL_H_
#else
#define TIDEMARK_KERNEL_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;

template <class T>
struct Lanes {
  hn::Vec<Tag<T>> v;
};
template <class T>
struct Truths {
  hn::Mask<Tag<T>> m;
};

template <class T>
HWY_INLINE Lanes<T> lanes_of(T c) {
  return {hn::Set(Tag<T>(), c)};
}
template <class T>
HWY_INLINE Lanes<T> load_lanes(const T* p) {
  return {hn::LoadU(Tag<T>(), p)};
}
template <class T>
HWY_INLINE void store_lanes(Lanes<T> x, T* p) {
  hn::StoreU(x.v, Tag<T>(), p);
}

template <class T>
HWY_INLINE Lanes<T> constant_like(Lanes<T>, double c) {
  return lanes_of(static_cast<T>(c));
}

template <class T>
HWY_INLINE Lanes<T> operator-(Lanes<T> x) {
  return {hn::Neg(x.v)};
}
template <class T>
HWY_INLINE Lanes<T> operator+(Lanes<T> x, Lanes<T> y) {
  return {hn::Add(x.v, y.v)};
}
template <class T>
HWY_INLINE Lanes<T> operator-(Lanes<T> x, Lanes<T> y) {
  return {hn::Sub(x.v, y.v)};
}
template <class T>
HWY_INLINE Lanes<T> operator*(Lanes<T> x, Lanes<T> y) {
  return {hn::Mul(x.v, y.v)};
}
template <class T>
HWY_INLINE Lanes<T> operator/(Lanes<T> x, Lanes<T> y) {
  return {hn::Div(x.v, y.v)};
}
// x·y + z, fused where the target can.
template <class T>
HWY_INLINE Lanes<T> mul_add(Lanes<T> x, Lanes<T> y, Lanes<T> z) {
  return {hn::MulAdd(x.v, y.v, z.v)};
}

template <class T>
HWY_INLINE Truths<T> equal(Lanes<T> x, Lanes<T> y) {
  return {hn::Eq(x.v, y.v)};
}
template <class T>
HWY_INLINE Truths<T> not_equal(Lanes<T> x, Lanes<T> y) {
  return {hn::Not(hn::Eq(x.v, y.v))};  // Highway's Ne is false for NaN on x86-64
}
template <class T>
HWY_INLINE Truths<T> less(Lanes<T> x, Lanes<T> y) {
  return {hn::Lt(x.v, y.v)};
}
template <class T>
HWY_INLINE Truths<T> less_equal(Lanes<T> x, Lanes<T> y) {
  return {hn::Le(x.v, y.v)};
}
template <class T>
HWY_INLINE Truths<T> greater(Lanes<T> x, Lanes<T> y) {
  return {hn::Gt(x.v, y.v)};
}
template <class T>
HWY_INLINE Truths<T> greater_equal(Lanes<T> x, Lanes<T> y) {
  return {hn::Ge(x.v, y.v)};
}
template <class T>
HWY_INLINE Truths<T> logical_or(Truths<T> x, Truths<T> y) {
  return {hn::Or(x.m, y.m)};
}
template <class T>
HWY_INLINE Truths<T> logical_and(Truths<T> x, Truths<T> y) {
  return {hn::And(x.m, y.m)};
}
template <class T>
HWY_INLINE bool any(Truths<T> x) {
  return !hn::AllFalse(Tag<T>(), x.m);
}

template <class T>
HWY_INLINE Lanes<T> select(Truths<T> condition, Lanes<T> on_true, Lanes<T> on_false) {
  return {hn::IfThenElse(condition.m, on_true.v, on_false.v)};
}

template <class T>
HWY_INLINE Lanes<T> abs(Lanes<T> x) {
  return {hn::Abs(x.v)};
}
template <class T>
HWY_INLINE Lanes<T> floor(Lanes<T> x) {
  return {hn::Floor(x.v)};
}
template <class T>
HWY_INLINE Lanes<T> ceil(Lanes<T> x) {
  return {hn::Ceil(x.v)};
}
template <class T>
HWY_INLINE Lanes<T> round(Lanes<T> x) {
  return {hn::Round(x.v)};
}  // half to even
template <class T>
HWY_INLINE Lanes<T> sqrt(Lanes<T> x) {
  return {hn::Sqrt(x.v)};
}
#if HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON  // one instruction, where Highway takes three
HWY_INLINE Lanes<float> copy_sign(Lanes<float> magnitude, Lanes<float> sign) {
  return {hn::Vec<Tag<float>>(vbslq_f32(vdupq_n_u32(0x80000000u), sign.v.raw, magnitude.v.raw))};
}
HWY_INLINE Lanes<double> copy_sign(Lanes<double> magnitude, Lanes<double> sign) {
  return {hn::Vec<Tag<double>>(vbslq_f64(vdupq_n_u64(0x8000000000000000u), sign.v.raw, magnitude.v.raw))};
}
#else
template <class T>
HWY_INLINE Lanes<T> copy_sign(Lanes<T> magnitude, Lanes<T> sign) {
  return {hn::CopySign(magnitude.v, sign.v)};
}
#endif
template <class T>
HWY_INLINE Lanes<T> sign(Lanes<T> x) {
  const Lanes<T> zero = lanes_of(T(0));
  return select(logical_or(less(x, zero), greater(x, zero)), copy_sign(lanes_of(T(1)), x), x);
}

// NaN in either operand gives NaN. Of zeros with two signs it is the second, on Arm the one that is larger or
// smaller.
#if HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON
HWY_INLINE Lanes<float> maximum(Lanes<float> x, Lanes<float> y) {
  return {hn::Vec<Tag<float>>(vmaxq_f32(x.v.raw, y.v.raw))};
}
HWY_INLINE Lanes<float> minimum(Lanes<float> x, Lanes<float> y) {
  return {hn::Vec<Tag<float>>(vminq_f32(x.v.raw, y.v.raw))};
}
HWY_INLINE Lanes<double> maximum(Lanes<double> x, Lanes<double> y) {
  return {hn::Vec<Tag<double>>(vmaxq_f64(x.v.raw, y.v.raw))};
}
HWY_INLINE Lanes<double> minimum(Lanes<double> x, Lanes<double> y) {
  return {hn::Vec<Tag<double>>(vminq_f64(x.v.raw, y.v.raw))};
}
#else
template <class T>
HWY_INLINE Lanes<T> maximum(Lanes<T> x, Lanes<T> y) {
  return select(logical_or(not_equal(x, x), greater(x, y)), x, y);
}
template <class T>
HWY_INLINE Lanes<T> minimum(Lanes<T> x, Lanes<T> y) {
  return select(logical_or(not_equal(x, x), less(x, y)), x, y);
}
#endif

// f on every lane in turn, for functions with no vector form.
template <class T, class F>
HWY_INLINE Lanes<T> each_lane(F f, Lanes<T> x) {
  HWY_ALIGN T buffer[hn::MaxLanes(Tag<T>())];
  hn::Store(x.v, Tag<T>(), buffer);
  for (std::size_t i = 0; i < hn::Lanes(Tag<T>()); ++i) buffer[i] = f(buffer[i]);
  return {hn::Load(Tag<T>(), buffer)};
}
template <class T, class F>
HWY_INLINE Lanes<T> each_lane(F f, Lanes<T> x, Lanes<T> y) {
  HWY_ALIGN T a[hn::MaxLanes(Tag<T>())];
  HWY_ALIGN T b[hn::MaxLanes(Tag<T>())];
  hn::Store(x.v, Tag<T>(), a);
  hn::Store(y.v, Tag<T>(), b);
  for (std::size_t i = 0; i < hn::Lanes(Tag<T>()); ++i) a[i] = f(a[i], b[i]);
  return {hn::Load(Tag<T>(), a)};
}

// f32 lanes as two vectors of f64 lanes, and back with one rounding.
struct Wide {
  Lanes<double> low, high;
};
HWY_INLINE Wide widen(Lanes<float> x) {
  const Tag<double> wide;
  const hn::Half<Tag<float>> half;
  return {{hn::PromoteTo(wide, hn::LowerHalf(half, x.v))}, {hn::PromoteTo(wide, hn::UpperHalf(half, x.v))}};
}
HWY_INLINE Lanes<float> narrow(const Wide& x) {
  const hn::Half<Tag<float>> half;
  return {hn::Combine(Tag<float>(), hn::DemoteTo(half, x.high.v), hn::DemoteTo(half, x.low.v))};
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
