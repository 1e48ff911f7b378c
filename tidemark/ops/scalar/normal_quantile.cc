// Compiled once per SIMD target. Most of the numbers lie in the middle, where two polynomials will do; the
// others are collected and get their logarithms together. No sum is fused with a product, so that every
// target's bits are the same.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/scalar/normal_quantile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cmath>
#include <cstdint>

#include "tidemark/kernel/simd-inl.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/scalar/normal_quantile.h"
#include "tidemark/ops/scalar/normal_quantile_number.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

using Doubles = Lanes<double>;

HWY_INLINE Doubles polynomial(const double (&coefficients)[8], Doubles x) {
  Doubles y = lanes_of(coefficients[0]);
  for (int i = 1; i < 8; ++i) y = y * x + lanes_of(coefficients[i]);
  return y;
}

HWY_INLINE Doubles plain_log(Doubles p) {
  const Tag<double> d;
  const hn::RebindToUnsigned<Tag<double>> du;
  const auto bits = hn::BitCast(du, p.v);
  // The biased exponent as the low bits of 2⁵² + exponent.
  const Doubles biased{
      hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, std::uint64_t{0x4330000000000000u})))};
  Doubles exponent = biased - lanes_of(0x1p52 + 1022);
  Doubles m{hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(du, std::uint64_t{0x000fffffffffffffu})),
                                  hn::Set(du, std::uint64_t{0x3fe0000000000000u})))};
  const Truths<double> low = less(m, lanes_of(as241::root_half));
  m = select(low, m * lanes_of(2.0), m);
  exponent = select(low, exponent - lanes_of(1.0), exponent);
  const Doubles s = (m - lanes_of(1.0)) / (m + lanes_of(1.0)), s2 = s * s;
  Doubles series = lanes_of(0.0);
  for (int k = as241::log_terms; k >= 1; --k) series = (series + lanes_of(1.0 / (2 * k + 1))) * s2;
  return exponent * lanes_of(as241::ln_2) + lanes_of(2.0) * (s + s * series);
}

void quantiles(const double* p, std::int64_t n, double* x) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<double>()));
  const Doubles half = lanes_of(0.5);
  std::int64_t whole = 0;
  for (; whole + lanes <= n; whole += lanes) {
    const Doubles q = load_lanes(p + whole) - half, r = lanes_of(as241::center_square) - q * q;
    store_lanes(q * polynomial(as241::center_top, r) / polynomial(as241::center_bottom, r), x + whole);
  }
  std::int64_t tails = 0;
  std::int64_t place[quantile_chunk];
  double of_tail[quantile_chunk];
  for (std::int64_t i = 0; i < whole; ++i) {
    place[tails] = i, of_tail[tails] = p[i];
    tails += std::fabs(p[i] - 0.5) > as241::center;
  }
  std::int64_t t = 0;
  for (; t + lanes <= tails; t += lanes) {
    const Doubles at = load_lanes(of_tail + t);
    const Truths<double> left = less(at, half);
    const Doubles r = sqrt(-plain_log(select(left, at, lanes_of(1.0) - at)));
    if (any(greater(r, lanes_of(as241::far)))) {
      for (std::int64_t i = t; i < t + lanes; ++i) of_tail[i] = normal_quantile(of_tail[i]);
      continue;
    }
    const Doubles s = r - lanes_of(as241::tail_origin);
    const Doubles value = polynomial(as241::tail_top, s) / polynomial(as241::tail_bottom, s);
    store_lanes(select(left, -value, value), of_tail + t);
  }
  for (; t < tails; ++t) of_tail[t] = normal_quantile(of_tail[t]);
  for (t = 0; t < tails; ++t) x[place[t]] = of_tail[t];
  for (std::int64_t i = whole; i < n; ++i) x[i] = normal_quantile(p[i]);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

HWY_EXPORT(quantiles);

}  // namespace

double normal_quantile(double p) { return as241::quantile(p); }

void normal_quantiles(const double* p, std::int64_t n, double* x) {
  HWY_DYNAMIC_DISPATCH(quantiles)(p, n, x);
}

}  // namespace tidemark
#endif
