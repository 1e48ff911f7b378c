// Vector math on Lanes: accurate over the whole range, with the special values of <cmath>. The cores of exp, log and
// the circular functions are Highway's; what those leave undefined (NaN, infinities, poles, large angles) is settled
// here. Errors are measured in ops/elementwise_accuracy_test.cc.
#if defined(TIDEMARK_KERNEL_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#undef TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#else
#define TIDEMARK_KERNEL_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "tidemark/kernel/simd-inl.h"
#include "tidemark/kernel/simd_math_coefficients.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr bool is_f32 = std::is_same_v<T, float>;
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();

// Two interleaved Horner chains: half the latency of one.
template <class T, std::size_t N>
HWY_INLINE Lanes<T> polynomial(Lanes<T> x, const T (&c)[N]) {
  const Lanes<T> x2 = x * x;
  constexpr std::size_t last_even = (N - 1) / 2 * 2, last_odd = (N - 2) / 2 * 2 + 1;
  Lanes<T> even = lanes_of(c[last_even]), odd = lanes_of(c[last_odd]);
  for (std::size_t i = last_even; i >= 2; i -= 2) even = mul_add(even, x2, lanes_of(c[i - 2]));
  for (std::size_t i = last_odd; i >= 3; i -= 2) odd = mul_add(odd, x2, lanes_of(c[i - 2]));
  return mul_add(odd, x, even);
}

// x limited from above or to [low, high]; NaN stays.
template <class T>
HWY_INLINE Lanes<T> at_most(Lanes<T> x, T bound) {
  return select(greater(x, lanes_of(bound)), lanes_of(bound), x);
}
template <class T>
HWY_INLINE Lanes<T> limited(Lanes<T> x, T low, T high) {
  return at_most(select(less(x, lanes_of(low)), lanes_of(low), x), high);
}

// Beyond these the result is 0 or infinite anyway.
template <class T>
HWY_INLINE Lanes<T> exp_argument(Lanes<T> x) {
  return limited(x, is_f32<T> ? T(-110) : T(-1100), is_f32<T> ? T(90) : T(711));
}
template <class T>
HWY_INLINE Lanes<T> exp(Lanes<T> x) {
  const Lanes<T> y = {hn::Exp(Tag<T>(), exp_argument(x).v)};
  return select(not_equal(x, x), x, y);
}
template <class T>
HWY_INLINE Lanes<T> expm1(Lanes<T> x) {
  const Lanes<T> y = {hn::Expm1(Tag<T>(), exp_argument(x).v)};
  return select(logical_or(not_equal(x, x), equal(x, lanes_of(T(0)))), x, y);  // keeps -0
}

// Where 0 < x < inf. The cores do arithmetic on the bits of x and see 1 instead of anything else.
template <class T>
HWY_INLINE Truths<T> inside_log(Lanes<T> x) {
  return logical_and(greater(x, lanes_of(T(0))), less(x, lanes_of(infinity<T>)));
}
// log(0) = -inf, log(inf) = inf, NaN below zero.
template <class T>
HWY_INLINE Lanes<T> outside_log(Lanes<T> x) {
  return select(equal(x, lanes_of(T(0))), lanes_of(-infinity<T>),
                select(equal(x, lanes_of(infinity<T>)), x, lanes_of(std::numeric_limits<T>::quiet_NaN())));
}
template <class T>
HWY_INLINE Lanes<T> log(Lanes<T> x) {
  const Truths<T> inside = inside_log(x);
  return select(inside, {hn::Log(Tag<T>(), select(inside, x, lanes_of(T(1))).v)}, outside_log(x));
}
template <class T>
HWY_INLINE Lanes<T> log1p(Lanes<T> x) {
  const Lanes<T> y = x + lanes_of(T(1));
  const Truths<T> inside = inside_log(y);
  return select(inside, {hn::Log1p(Tag<T>(), select(inside, x, lanes_of(T(0))).v)}, outside_log(y));
}

template <class T>
HWY_INLINE Lanes<T> tanh(Lanes<T> x) {
  const Lanes<T> a = abs(x);
  const Lanes<T> e = expm1(a + a);
  const Lanes<T> y = select(greater(a, lanes_of(T(20))), lanes_of(T(1)), e / (e + lanes_of(T(2))));
  return copy_sign(y, x);
}

// Highway reduces the angle with a few parts of π, good up to about this; larger angles go to <cmath>, lane by lane.
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
// cos for |x| ≤ π/4 by its series, to r¹⁸/18! (below 1e-17): Highway's reduction goes through π/2 and gives less than
// 1 at 0.
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

// exp(a²/2)·Φ(-a) for 0 ≤ a, up to where exp(-a²/2) vanishes.
HWY_INLINE Lanes<float> mills(Lanes<float> a) {
  const Lanes<float> r = lanes_of(1.0f) / (a + lanes_of(3.0f));
  return r * polynomial(mul_add(lanes_of(-0.1875f), a, lanes_of(3.0f)) * r, mills_coefficients_f32);
}
HWY_INLINE Lanes<double> mills(Lanes<double> a) {
  const Lanes<double> r = lanes_of(1.0) / (a + lanes_of(5.0));
  return r * polynomial(mul_add(lanes_of(-0.125), a, lanes_of(5.0)) * r, mills_coefficients_f64);
}

HWY_INLINE Lanes<float> erf_over_x(Lanes<float> x2) { return polynomial(x2, erf_coefficients_f32); }
HWY_INLINE Lanes<double> erf_over_x(Lanes<double> x2) { return polynomial(x2, erf_coefficients_f64); }
template <class T>
HWY_INLINE Lanes<T> erf(Lanes<T> x) {
  const Lanes<T> a = at_most(abs(x), T(6));  // erf(6) rounds to 1
  const Lanes<T> near_zero = x * erf_over_x(x * x);
  const Lanes<T> tail = exp(-(a * a)) * mills(a * lanes_of(static_cast<T>(1.4142135623730950488)));
  const Lanes<T> far = copy_sign(lanes_of(T(1)) - (tail + tail), x);
  return select(less_equal(a, lanes_of(T(1))), near_zero, far);
}

// exp(-a²/2) to full relative accuracy: the square is taken in two parts, the first exact.
template <class T>
HWY_INLINE Lanes<T> normal_density_times_sqrt_two_pi(Lanes<T> a) {
  using Bits = hwy::MakeUnsigned<T>;
  const Tag<T> d;
  const hn::RebindToUnsigned<Tag<T>> du;
  const Bits upper_half = static_cast<Bits>(~((Bits{1} << (is_f32<T> ? 12 : 27)) - 1));
  const Lanes<T> head = {hn::BitCast(d, hn::And(hn::BitCast(du, a.v), hn::Set(du, upper_half)))};
  const Lanes<T> half = lanes_of(T(0.5));
  const Lanes<T> rest = (head - a) * (head + a) * half;  // -(a² - head²)/2, small
  const Lanes<T> factor = polynomial(rest, {T(1), T(1), T(0.5), T(1) / 6, T(1) / 24});
  return exp(-(head * head * half)) * factor;
}
// Φ(x), the normal distribution, with full relative accuracy in both tails.
template <class T>
HWY_INLINE Lanes<T> normal_distribution(Lanes<T> x) {
  const Lanes<T> a = at_most(abs(x), is_f32<T> ? T(15) : T(40)), half = lanes_of(T(0.5));
  const Lanes<T> tail = normal_density_times_sqrt_two_pi(a) * mills(a);
  const Lanes<T> far = select(less(x, lanes_of(T(0))), tail, lanes_of(T(1)) - tail);
  // 1/2 + erf(x/√2)/2
  const Lanes<T> near_zero =
      mul_add(x * lanes_of(static_cast<T>(0.35355339059327376220)), erf_over_x(x * x * half), half);
  return select(less(a, half), near_zero, far);
}

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
