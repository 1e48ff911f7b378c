#include "tidemark/ops/scalar/gamma_functions.h"

#include <math.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace tidemark {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// c₀ + c₁x + c₂x² + …
template <std::size_t n>
double polynomial(const double (&c)[n], double x) {
  double sum = 0;
  for (std::size_t k = n; k > 0; --k) sum = sum * x + c[k - 1];
  return sum;
}

// ψ on [1, 2]: the distance to its zero, whose digits beyond a double count, times a polynomial in x - 3/2
// (interpolated at Chebyshev points, to 2e-17 of the quotient).
double digamma_around_zero(double x) {
  constexpr double zero = 1.4616321449683622, zero_rest = 9.549995429965697e-17;
  constexpr double quotient[] = {
      0.951055876031833,      -0.4236274212814605,    0.2405424842407742,    -0.14840492305390884,
      0.09498872445494122,    -0.061922133273064534,  0.04076083381242074,   -0.02697579675613825,
      0.0179072524394512,     -0.011908218001568644,  0.007926944646403797,  -0.005279964873257405,
      0.003519006401502276,   -0.002345267632540769,  0.0015566317474486838, -0.0010376374098418604,
      0.0007233266279287554,  -0.0004821990530566789, 0.0002272331660987376, -0.00015148586836773365,
      0.00025968482126430747, -0.00017312261802727394};
  return (x - zero - zero_rest) * polynomial(quotient, x - 1.5);
}

// By the asymptotic series from 10 on, by ψ(x + 1) = ψ(x) + 1/x below.
double digamma_of_positive(double x) {
  if (x >= 10) {
    constexpr double series[] = {1.0 / 12,  -1.0 / 120,      1.0 / 252, -1.0 / 240,
                                 1.0 / 132, -691.0 / 32760., 1.0 / 12,  -3617.0 / 8160};  // B₂ₖ/2k
    const double inverse_square = 1 / x / x;
    return std::log(x) - (0.5 / x + inverse_square * polynomial(series, inverse_square));
  }
  if (x < 1) return digamma_around_zero(x + 1) - 1 / x;
  double steps = 0;
  while (x > 2) {
    x -= 1;
    steps += 1 / x;
  }
  return digamma_around_zero(x) + steps;
}

// π/tan(πx), from the distance to the nearest integer, which is exact; the next term below 1e-9 is lost.
double pi_cotangent(double x) {
  const double r = x - std::nearbyint(x);
  return std::fabs(r) < 1e-9 ? 1 / r : std::numbers::pi / std::tan(std::numbers::pi * r);
}

// n!/xⁿ⁺¹ without forming n!, which would overflow before the quotient does.
double factorial_over_power(int n, double x) {
  double term = 1 / x;
  for (int k = 1; k <= n; ++k) term = term * k / x;
  return term;
}

// n! Σₖ 1/(x + k)ⁿ⁺¹ over k ≥ 0, for x ≥ 0: terms up to where the rest is a sum by Euler and Maclaurin.
double shifted_power_sum(int n, double x) {
  constexpr double series[] = {1.0 / 12,          -1.0 / 720,
                               1.0 / 30240,       -1.0 / 1209600,
                               1.0 / 47900160,    -691.0 / 1307674368000,
                               1.0 / 74724249600, -3617.0 / 10670622842880000};  // B₂ₖ/(2k)!
  const double far = n + 15.0;
  const int terms = x < far ? static_cast<int>(std::ceil(far - x)) : 0;
  const double from = x + terms;
  double rest = 1 + n / (2 * from), rising = n / from;  // n(n+1)…(n+2k-1)/from²ᵏ, without its last factor
  double factor = n;
  for (double coefficient : series) {
    rising *= ++factor / from;
    rest += coefficient * rising;
    rising *= ++factor / from;
  }
  double sum = factorial_over_power(n - 1, from) * rest;
  for (int k = terms - 1; k >= 0; --k) sum += factorial_over_power(n, x + k);
  return sum;
}

}  // namespace

// lgamma would write the sign to a global.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma_of(double x) {
  if (x > 0) return digamma_of_positive(x);
  if (x == 0) return -1 / x;
  if (!(std::floor(x) != x)) return not_a_number;  // poles, -infinity and NaN
  return digamma_of_positive(1 - x) - pi_cotangent(x);
}

// Below 0 the sum of 1/(x + k)ⁿ⁺¹ has a part on each side of x: upwards from the next integer's distance, and
// downwards a sum that ends, the difference of two that do not.
double polygamma_of(int order, double x) {
  const double sign = order % 2 ? 1 : -1;
  if (x >= 0) return sign * shifted_power_sum(order, x);
  if (!(std::fabs(x) < std::numeric_limits<double>::infinity())) return not_a_number;
  const double above = x - std::floor(x), below = std::ceil(x) - x;  // one of them may round to 1, no matter
  const double downwards = shifted_power_sum(order, below) - shifted_power_sum(order, 1 - x);
  return sign * (shifted_power_sum(order, above) + sign * downwards);
}

}  // namespace tidemark
