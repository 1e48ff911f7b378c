// Vector math on Lanes: accurate over the whole range, with the special values of <cmath>. The cores of the
// circular functions are Highway's; what those leave undefined (NaN, infinities, large angles) is handled
// here. Errors are measured in ops/scalar/elementwise_accuracy_test.cc.
#if defined(TIDEMARK_KERNEL_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#undef TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#else
#define TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "tidemark/kernel/simd_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

// Highway reduces the angle with a few parts of π, good up to about this; larger angles go to <cmath>, lane
// by lane.
template <class T>
inline constexpr T largest_angle = T(39000);
template <class T, class F>
HWY_INLINE Lanes<T> replace_large_angles(Lanes<T> x, Lanes<T> y, F f) {
  const Truths<T> good = less_equal(abs(x), lanes_of(largest_angle<T>));
  if (HWY_LIKELY(hn::AllTrue(Tag<T>(), good.m))) return y;
  return select(good, y, each_lane(f, x));
}
template <class T>
HWY_INLINE Lanes<T> bounded_angle(Lanes<T> x) {
  return select(less_equal(abs(x), lanes_of(largest_angle<T>)), x, lanes_of(T(0)));
}
template <class T>
HWY_INLINE Lanes<T> sin(Lanes<T> x) {
  const Lanes<T> y = {hn::Sin(Tag<T>(), bounded_angle(x).v)};
  return replace_large_angles(x, select(equal(x, lanes_of(T(0))), x, y), [](T a) { return std::sin(a); });
}
// cos for |x| ≤ π/4 by its series, to r¹⁸/18! (below 1e-17): Highway's reduction goes through π/2 and gives
// less than 1 at 0.
template <class T>
HWY_INLINE Lanes<T> cos_near_zero(Lanes<T> x) {
  const Lanes<T> z = x * x;
  Lanes<T> sum = lanes_of(T(0));
  double factor = 1.0 / 6402373705728000.0;  // 1 / 18!, of alternating sign from -1/18! upwards
  for (int n = 18; n >= 4; n -= 2) {
    sum = mul_add(sum, z, lanes_of(static_cast<T>((n / 2) % 2 == 0 ? factor : -factor)));
    factor *= static_cast<double>(n) * (n - 1);
  }
  const Lanes<T> half = z * lanes_of(T(0.5));
  const Lanes<T> w = lanes_of(T(1)) - half;
  return w + (((lanes_of(T(1)) - w) - half) + sum * z * z);  // the rounding of 1 - z/2 is given back
}
template <class T>
HWY_INLINE Lanes<T> cos(Lanes<T> x) {
  const Truths<T> near = less_equal(abs(x), lanes_of(T(0.785)));
  const Lanes<T> y = select(near, cos_near_zero(x), {hn::Cos(Tag<T>(), bounded_angle(x).v)});
  return replace_large_angles(x, y, [](T a) { return std::cos(a); });
}
// The quotient of two results of 2 ulp would be off by more than 4: f32 divides in f64, f64 asks <cmath>.
HWY_INLINE Lanes<double> tan(Lanes<double> x) {
  return each_lane([](double a) { return std::tan(a); }, x);
}
HWY_INLINE Lanes<float> tan(Lanes<float> x) {
  const Wide a = widen(bounded_angle(x));
  const Tag<double> d;
  const Lanes<float> y = narrow({{hn::Div(hn::Sin(d, a.low.v), hn::Cos(d, a.low.v))},
                                 {hn::Div(hn::Sin(d, a.high.v), hn::Cos(d, a.high.v))}});
  return replace_large_angles(x, select(equal(x, lanes_of(0.0f)), x, y), [](float b) { return std::tan(b); });
}

// Rarer functions ask <cmath>, lane by lane: right to the last digit or nearly, with its special values.
#define TM_ASK_CMATH(name)                                 \
  template <class T>                                       \
  HWY_INLINE Lanes<T> name(Lanes<T> x) {                   \
    return each_lane([](T a) { return std::name(a); }, x); \
  }
TM_ASK_CMATH(exp2)
TM_ASK_CMATH(log2)
TM_ASK_CMATH(log10)
TM_ASK_CMATH(asin)
TM_ASK_CMATH(acos)
TM_ASK_CMATH(atan)
TM_ASK_CMATH(sinh)
TM_ASK_CMATH(cosh)
TM_ASK_CMATH(asinh)
TM_ASK_CMATH(acosh)
TM_ASK_CMATH(atanh)
#undef TM_ASK_CMATH
template <class T>
HWY_INLINE Lanes<T> atan2(Lanes<T> y, Lanes<T> x) {
  return each_lane([](T a, T b) { return std::atan2(a, b); }, y, x);
}

// exp(a²/2)·Φ(-a) for 0 ≤ a, up to where exp(-a²/2) vanishes.
HWY_INLINE Lanes<double> mills(Lanes<double> a) {
  const Lanes<double> r = lanes_of(1.0) / (a + lanes_of(5.0));
  return r * polynomial(mul_add(lanes_of(-0.125), a, lanes_of(5.0)) * r, mills_coefficients_f64);
}

// 1 - e^(a q(a)) with q(a) = log(erfc a)/a, a smooth function: full accuracy at both ends, and no division.
HWY_INLINE Lanes<float> erf(Lanes<float> x) {
  const Lanes<float> a = at_most(abs(x), 4.0f);  // erf(4) rounds to 1
  const ReducedExp<float> e = reduce_exp<127>(a * polynomial(a, log_erfc_coefficients_f32));
  const Lanes<float> power = {hn::BitCast(Tag<float>(), hn::ShiftLeft<23>(e.tagged))};
  return copy_sign(mul_add(-e.p, power, lanes_of(1.0f) - power), x);
}
HWY_INLINE Lanes<double> erf_over_x(Lanes<double> x2) { return polynomial(x2, erf_coefficients_f64); }
HWY_INLINE Lanes<double> erf(Lanes<double> x) {
  const Lanes<double> a = at_most(abs(x), 6.0);  // erf(6) rounds to 1
  const Lanes<double> near_zero = x * erf_over_x(x * x);
  const Lanes<double> tail = exp_in_range(-(a * a)) * mills(a * lanes_of(1.4142135623730950488));
  const Lanes<double> far = copy_sign(lanes_of(1.0) - (tail + tail), x);
  return select(less_equal(a, lanes_of(1.0)), near_zero, far);
}

// a² - square, where square is a² rounded.
template <class T>
HWY_INLINE Lanes<T> rest_of_square(Lanes<T> a, Lanes<T> square) {
#if HWY_NATIVE_FMA
  return {hn::MulSub(a.v, a.v, square.v)};
#else  // a in two halves, whose products are exact
  using Bits = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<Tag<T>> du;
  const Bits upper_half = static_cast<Bits>(~((Bits{1} << (is_f32<T> ? 12 : 27)) - 1));
  const Lanes<T> head = {hn::BitCast(Tag<T>(), hn::And(hn::BitCast(du, a.v), hn::Set(du, upper_half)))};
  const Lanes<T> tail = a - head, cross = head * tail;
  return ((head * head - square) + cross + cross) + tail * tail;
#endif
}

// The exponential of -a²/2, which is not rounded before.
HWY_INLINE ReducedExp<float> reduce_exp_of_square(Lanes<float> a) {
  const Lanes<float> minus_half = lanes_of(-0.5f);
#if HWY_NATIVE_FMA
  using Facts = ExpFacts<float>;
  const Lanes<float> b = a * minus_half, magic = lanes_of(Facts::integer + scaled_offset);
  const Lanes<float> shifted = mul_add(a * b, lanes_of(Facts::log2e), magic), n = shifted - magic;
  const Lanes<float> r =
      mul_add(n, lanes_of(-Facts::ln2_tail), mul_add(a, b, n * lanes_of(-Facts::ln2_head)));
  return {mul_add(expm1_quadratic(r), r * r, r), hn::BitCast(hn::RebindToUnsigned<Tag<float>>(), shifted.v)};
#else
  const Lanes<float> square = a * a;
  return reduce_exp<scaled_offset>(square * minus_half, rest_of_square(a, square) * minus_half);
#endif
}

// The normal distribution beyond |x|, with full relative accuracy.
struct NormalTail {
  Lanes<float> a;        // |x|, up to where all of it is 0
  Lanes<float> density;  // 2^64·√(2π) times the density
  Lanes<float> tail;     // Φ(-a)
};
HWY_INLINE NormalTail normal_tail(Lanes<float> x) {
  const Lanes<float> a = at_most(abs(x), 14.42f), density = scaled_exp(reduce_exp_of_square(a));
  return {a, density, density * (horner(a, mills_over_f32) / horner(a, mills_under_f32))};
}
HWY_INLINE Lanes<float> normal_distribution(Lanes<float> x) {
  const Lanes<float> tail = normal_tail(x).tail;
  return select(less(x, lanes_of(0.0f)), tail, lanes_of(1.0f) - tail);
}
HWY_INLINE Lanes<float> normal_density(Lanes<float> x) {
  return normal_tail(x).density * lanes_of(0.39894228f * 0x1p-64f);
}
// x·Φ(x) = max(x, 0) - |x|·Φ(-|x|)
HWY_INLINE Lanes<float> gelu(Lanes<float> x) {
  const NormalTail t = normal_tail(x);
  return {hn::NegMulAdd(t.a.v, t.tail.v, maximum(x, lanes_of(0.0f)).v)};
}

// √(2π) times the density, and the distribution function Φ.
struct WideNormal {
  Lanes<double> density, distribution;
};
HWY_INLINE WideNormal normal_at(Lanes<double> x) {
  const Lanes<double> a = at_most(abs(x), 38.6);  // there both are 0
  const Lanes<double> square = a * a, minus_half = lanes_of(-0.5), half = lanes_of(0.5);
  const Lanes<double> density = exp_in_range(square * minus_half, rest_of_square(a, square) * minus_half);
  const Lanes<double> tail = density * mills(a);
  // The long polynomial of mills loses digits: near zero 1/2 + erf(x/√2)/2.
  const Lanes<double> near_zero =
      mul_add(x * lanes_of(0.35355339059327376220), erf_over_x(square * half), half);
  const Lanes<double> far = select(less(x, lanes_of(0.0)), tail, lanes_of(1.0) - tail);
  return {density, select(less(a, half), near_zero, far)};
}
HWY_INLINE Lanes<double> normal_distribution(Lanes<double> x) { return normal_at(x).distribution; }
HWY_INLINE Lanes<double> normal_density(Lanes<double> x) {
  return normal_at(x).density * lanes_of(0.39894228040143267794);
}
HWY_INLINE Lanes<double> gelu(Lanes<double> x) { return at_least(x, -38.6) * normal_distribution(x); }

HWY_INLINE Lanes<double> pow(Lanes<double> x, Lanes<double> y) {
  return each_lane([](double a, double b) { return std::pow(a, b); }, x, y);
}
// exp(y·log|x|) in f64, exact to f32 rounding; zeros, infinities and NaN go to <cmath>, lane by lane.
HWY_INLINE Lanes<float> pow(Lanes<float> x, Lanes<float> y) {
  const Lanes<float> a = abs(x), zero = lanes_of(0.0f), limit = lanes_of(infinity<float>);
  const Truths<float> ordinary =
      logical_and(logical_and(greater(a, zero), less(a, limit)), less(abs(y), limit));
  const Wide base = widen(select(ordinary, a, lanes_of(1.0f))), exponent = widen(y);
  const Tag<double> d;
  const auto power = [&](Lanes<double> b, Lanes<double> e)
                         HWY_ATTR { return exp(e * Lanes<double>{hn::Log(d, b.v)}); };
  Lanes<float> z = narrow({power(base.low, exponent.low), power(base.high, exponent.high)});
  // A negative base: the sign of an odd power, NaN where the exponent is no integer.
  const Lanes<float> half = y * lanes_of(0.5f);
  const Lanes<float> signed_z = select(equal(round(y), y), select(equal(round(half), half), z, -z),
                                       lanes_of(std::numeric_limits<float>::quiet_NaN()));
  z = select(less(x, zero), signed_z, z);
  if (HWY_LIKELY(hn::AllTrue(Tag<float>(), ordinary.m))) return z;
  return select(ordinary, z, each_lane([](float b, float e) { return std::pow(b, e); }, x, y));
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
