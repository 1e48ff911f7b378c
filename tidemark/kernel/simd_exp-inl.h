// The exponential and the logarithm on Lanes, and what is one step away from them. A vector of f32 takes
// about twenty instructions, none of them a division or a table look-up:
//
//   e^x = 2^n · (1 + p(r)),   n = round(x / ln 2),   r = x - n ln 2 in two parts,   p(r) = r + r² q(r) ≈
//                                                    expm1(r)
//
// 1.5·2^23 (f32) or 1.5·2^52 (f64) is added to x / ln 2, which rounds it to an integer and leaves that
// integer in the low bits, where a shift makes an exponent of it. 2^n is applied in two halves, so that
// results may be subnormal or overflow; a limit that keeps NaN stands before. Each lane's bits depend on that
// lane alone.
#if defined(TIDEMARK_KERNEL_SIMD_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_SIMD_EXP_INL_H_
#undef TIDEMARK_KERNEL_SIMD_EXP_INL_H_
#else
#define TIDEMARK_KERNEL_SIMD_EXP_INL_H_
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

// One chain: for polynomials that run side by side with others.
template <class T, std::size_t N>
HWY_INLINE Lanes<T> horner(Lanes<T> x, const T (&c)[N]) {
  Lanes<T> sum = lanes_of(c[N - 1]);
  for (std::size_t i = N - 1; i >= 1; --i) sum = mul_add(sum, x, lanes_of(c[i - 1]));
  return sum;
}

// x limited from above or below; NaN stays. Highway's Min and Max lose it on Arm, and on x86-64 keep the
// second operand.
#if HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON
HWY_INLINE Lanes<float> at_most(Lanes<float> x, float bound) {
  return {hn::Vec<Tag<float>>(vminq_f32(lanes_of(bound).v.raw, x.v.raw))};
}
HWY_INLINE Lanes<float> at_least(Lanes<float> x, float bound) {
  return {hn::Vec<Tag<float>>(vmaxq_f32(lanes_of(bound).v.raw, x.v.raw))};
}
HWY_INLINE Lanes<double> at_most(Lanes<double> x, double bound) {
  return {hn::Vec<Tag<double>>(vminq_f64(lanes_of(bound).v.raw, x.v.raw))};
}
HWY_INLINE Lanes<double> at_least(Lanes<double> x, double bound) {
  return {hn::Vec<Tag<double>>(vmaxq_f64(lanes_of(bound).v.raw, x.v.raw))};
}
#elif HWY_ARCH_X86
template <class T>
HWY_INLINE Lanes<T> at_most(Lanes<T> x, T bound) {
  return {hn::Min(lanes_of(bound).v, x.v)};
}
template <class T>
HWY_INLINE Lanes<T> at_least(Lanes<T> x, T bound) {
  return {hn::Max(lanes_of(bound).v, x.v)};
}
#else
template <class T>
HWY_INLINE Lanes<T> at_most(Lanes<T> x, T bound) {
  return select(greater(x, lanes_of(bound)), lanes_of(bound), x);
}
template <class T>
HWY_INLINE Lanes<T> at_least(Lanes<T> x, T bound) {
  return select(less(x, lanes_of(bound)), lanes_of(bound), x);
}
#endif

// What differs between f32 and f64. ln 2 = head + tail, the head so short that n·head is exact.
template <class T>
struct ExpFacts;
template <>
struct ExpFacts<float> {
  static constexpr float log2e = 1.44269504f, ln2_head = 0.693359375f, ln2_tail = -2.12194440e-4f;
  static constexpr float integer = 0x1.8p23f;
  static constexpr int significand = 23, bias = 127;
  static constexpr float lowest = -104, highest = 89;  // e^x is 0 and infinite there
};
template <>
struct ExpFacts<double> {
  static constexpr double log2e = 1.44269504088896340736, ln2_head = 6.93147180369123816490e-01,
                          ln2_tail = 1.90821492927058770002e-10;
  static constexpr double integer = 0x1.8p52;
  static constexpr int significand = 52, bias = 1023;
  static constexpr double lowest = -746, highest = 710;
};

HWY_INLINE Lanes<float> expm1_quadratic(Lanes<float> r) { return polynomial(r, expm1_coefficients_f32); }
HWY_INLINE Lanes<double> expm1_quadratic(Lanes<double> r) { return polynomial(r, expm1_coefficients_f64); }

// x = n ln 2 + r: expm1(r), and n with `offset` added to it in the low bits of `tagged`.
template <class T>
struct ReducedExp {
  Lanes<T> p;
  hn::Vec<hn::RebindToUnsigned<Tag<T>>> tagged;
};
// The exponent of x + rest, where `rest` is small against x and may be absent.
template <int offset, class T, class... Rest>
HWY_INLINE ReducedExp<T> reduce_exp(Lanes<T> x, Rest... rest) {
  using Facts = ExpFacts<T>;
  constexpr T magic = Facts::integer + offset;
  const Lanes<T> shifted = mul_add(x, lanes_of(Facts::log2e), lanes_of(magic));
  const Lanes<T> n = shifted - lanes_of(magic);
  Lanes<T> r = mul_add(n, lanes_of(-Facts::ln2_head), x);
  r = mul_add(n, lanes_of(-Facts::ln2_tail), r);
  ((r = r + rest), ...);
  return {mul_add(expm1_quadratic(r), r * r, r), hn::BitCast(hn::RebindToUnsigned<Tag<T>>(), shifted.v)};
}

// e^(x + rest) for x that is not below `lowest` nor above `highest`.
template <class T, class... Rest>
HWY_INLINE Lanes<T> exp_in_range(Lanes<T> x, Rest... rest) {
  using Facts = ExpFacts<T>;
  const Tag<T> d;
  const ReducedExp<T> e = reduce_exp<2 * Facts::bias>(x, rest...);
  const auto half = hn::ShiftRight<1>(e.tagged);
  const Lanes<T> first = {hn::BitCast(d, hn::ShiftLeft<Facts::significand>(half))};
  const Lanes<T> second = {hn::BitCast(d, hn::ShiftLeft<Facts::significand>(hn::Sub(e.tagged, half)))};
  return mul_add(e.p, first, first) * second;
}
template <class T>
HWY_INLINE Lanes<T> exp(Lanes<T> x) {
  return exp_in_range(at_most(at_least(x, ExpFacts<T>::lowest), ExpFacts<T>::highest));
}
// For x ≤ 0 (or NaN).
template <class T>
HWY_INLINE Lanes<T> exp_of_negative(Lanes<T> x) {
  return exp_in_range(at_least(x, ExpFacts<T>::lowest));
}

// 2^x for x ≤ 0 (or NaN), where what is below the smallest normal number may as well be 0: for probabilities.
// From -127 on the power of two is 0, the exponent's bits being so.
HWY_INLINE Lanes<float> exp2_of_negative(Lanes<float> x) {
  using Facts = ExpFacts<float>;
  const Tag<float> d;
  x = at_least(x, -127.0f);
  const Lanes<float> magic = lanes_of(Facts::integer + Facts::bias), shifted = x + magic;
  const Lanes<float> r = x - (shifted - magic);
  const hn::RebindToUnsigned<Tag<float>> du;
  const Lanes<float> power = {hn::BitCast(d, hn::ShiftLeft<Facts::significand>(hn::BitCast(du, shifted.v)))};
  return mul_add(polynomial(r, exp2_coefficients_f32), r * power, power);
}
HWY_INLINE Lanes<double> exp2_of_negative(Lanes<double> x) {
  return exp_of_negative(x * lanes_of(0.69314718055994530942));
}

// 2^64·(1 + p)·2^n, given n + bias + 64 in the low bits: for n that goes as low as e^x vanishes, and no lower
// than what stays normal here.
HWY_INLINE Lanes<float> scaled_exp(const ReducedExp<float>& e) {
  const Lanes<float> power = {hn::BitCast(Tag<float>(), hn::ShiftLeft<23>(e.tagged))};
  return mul_add(e.p, power, power);
}
inline constexpr int scaled_offset = 127 + 64;

// From the exponential of -|x| alone, so that nothing overflows and small results keep their digits. In f32
// both sides of the fraction are multiplied by 2^64.
HWY_INLINE Lanes<float> sigmoid(Lanes<float> x) {
  const Lanes<float> scale = lanes_of(0x1p64f);
  const Lanes<float> e = scaled_exp(reduce_exp<scaled_offset>(at_least(-abs(x), ExpFacts<float>::lowest)));
  return select(greater_equal(x, lanes_of(0.0f)), scale, e) / (e + scale);
}
HWY_INLINE Lanes<double> sigmoid(Lanes<double> x) {
  const Lanes<double> one = lanes_of(1.0), e = exp_of_negative(-abs(x));
  return select(greater_equal(x, lanes_of(0.0)), one, e) / (e + one);
}

template <class T>
HWY_INLINE Lanes<T> expm1(Lanes<T> x) {
  using Facts = ExpFacts<T>;
  const ReducedExp<T> e =
      reduce_exp<Facts::bias - 1>(at_most(at_least(x, is_f32<T> ? T(-20) : T(-40)), Facts::highest));
  const Lanes<T> half = {hn::BitCast(Tag<T>(), hn::ShiftLeft<Facts::significand>(e.tagged))};  // 2^n / 2
  const Lanes<T> y = mul_add(e.p, half, half - lanes_of(T(0.5)));
  return copy_sign(y + y, x);  // keeps -0
}

// From expm1(2|x|), which is never out of range: from 20 on the result is 1.
template <class T>
HWY_INLINE Lanes<T> tanh(Lanes<T> x) {
  using Facts = ExpFacts<T>;
  const Lanes<T> a = at_most(abs(x), T(20));
  const ReducedExp<T> e = reduce_exp<Facts::bias>(a + a);
  const Lanes<T> power = {hn::BitCast(Tag<T>(), hn::ShiftLeft<Facts::significand>(e.tagged))};
  const Lanes<T> y = mul_add(e.p, power, power - lanes_of(T(1)));
  return copy_sign(y / (y + lanes_of(T(2))), x);
}

// log(1 + f) for 1/√2 ≤ 1 + f ≤ √2.
HWY_INLINE Lanes<float> log1p_reduced(Lanes<float> f, Lanes<float> exponent) {
  const Lanes<float> tail = exponent * lanes_of(ExpFacts<float>::ln2_tail);
  const Lanes<float> y = f + mul_add(f * f, polynomial(f, log1p_coefficients_f32), tail);
  return mul_add(exponent, lanes_of(ExpFacts<float>::ln2_head), y);
}
// The exponent k of x = 2^k m with 1/√2 ≤ m < √2, shifted to the exponent's place, for a normal x > 0.
HWY_INLINE auto exponent_bits(Lanes<float> x) {
  const hn::RebindToUnsigned<Tag<float>> du;  // as for any x the difference wraps around
  const auto above = hn::Sub(hn::BitCast(du, x.v), hn::Set(du, 0x3f3504f3u));
  return hn::And(above, hn::Set(du, 0xff800000u));
}
HWY_INLINE Lanes<float> exponent_of(hn::Vec<hn::RebindToUnsigned<Tag<float>>> bits) {
  return {
      hn::ConvertTo(Tag<float>(), hn::ShiftRight<23>(hn::BitCast(hn::RebindToSigned<Tag<float>>(), bits)))};
}

// Zero, infinity, NaN, what lies below zero and subnormal numbers go to <cmath>, lane by lane.
HWY_INLINE Lanes<float> log(Lanes<float> x) {
  const Tag<float> d;
  const auto k = exponent_bits(x);
  const Lanes<float> m = {hn::BitCast(d, hn::Sub(hn::BitCast(hn::RebindToUnsigned<Tag<float>>(), x.v), k))};
  const Lanes<float> y = log1p_reduced(m - lanes_of(1.0f), exponent_of(k));
  const Truths<float> ordinary = logical_and(greater_equal(x, lanes_of(std::numeric_limits<float>::min())),
                                             less(x, lanes_of(infinity<float>)));
  if (HWY_LIKELY(hn::AllTrue(d, ordinary.m))) return y;
  return select(ordinary, y, each_lane([](float a) { return std::log(a); }, x));
}
// 1 + x = 2^k m: m - 1 = x/2^k + (1/2^k - 1), so that nothing of x is lost.
HWY_INLINE Lanes<float> log1p(Lanes<float> x) {
  const Tag<float> d;
  const hn::RebindToUnsigned<Tag<float>> du;
  const auto k = exponent_bits(x + lanes_of(1.0f));
  const Lanes<float> scale = {hn::BitCast(d, hn::Sub(hn::Set(du, 0x3f800000u), k))};
  const Lanes<float> y = log1p_reduced(mul_add(x, scale, scale - lanes_of(1.0f)), exponent_of(k));
  const Truths<float> ordinary = logical_and(greater(x, lanes_of(-1.0f)), less(x, lanes_of(0x1p120f)));
  if (HWY_LIKELY(hn::AllTrue(d, ordinary.m))) return copy_sign(y, x);
  return select(ordinary, copy_sign(y, x), each_lane([](float a) { return std::log1p(a); }, x));
}
// log(1 + x) for 0 ≤ x ≤ 1 (or NaN), as after an exponential.
HWY_INLINE Lanes<float> log1p_of_unit(Lanes<float> x) {
  const Truths<float> large = greater(x, lanes_of(0.41421356f));
  const Lanes<float> f = select(large, (x - lanes_of(1.0f)) * lanes_of(0.5f), x);
  return log1p_reduced(f, select(large, lanes_of(1.0f), lanes_of(0.0f)));
}

// Where 0 < x < inf. Highway's cores do arithmetic on the bits of x and see 1 instead of anything else.
HWY_INLINE Truths<double> inside_log(Lanes<double> x) {
  return logical_and(greater(x, lanes_of(0.0)), less(x, lanes_of(infinity<double>)));
}
// log(0) = -inf, log(inf) = inf, NaN below zero.
HWY_INLINE Lanes<double> outside_log(Lanes<double> x) {
  return select(
      equal(x, lanes_of(0.0)), lanes_of(-infinity<double>),
      select(equal(x, lanes_of(infinity<double>)), x, lanes_of(std::numeric_limits<double>::quiet_NaN())));
}
HWY_INLINE Lanes<double> log(Lanes<double> x) {
  const Truths<double> inside = inside_log(x);
  return select(inside, {hn::Log(Tag<double>(), select(inside, x, lanes_of(1.0)).v)}, outside_log(x));
}
HWY_INLINE Lanes<double> log1p(Lanes<double> x) {
  const Lanes<double> y = x + lanes_of(1.0);
  const Truths<double> inside = inside_log(y);
  return select(inside, {hn::Log1p(Tag<double>(), select(inside, x, lanes_of(0.0)).v)}, outside_log(y));
}
HWY_INLINE Lanes<double> log1p_of_unit(Lanes<double> x) { return log1p(x); }

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();
#endif
