// The derivative of Riemann's zeta function: of its sum by Euler and Maclaurin (DLMF 25.2.9), and below 0 of
// its reflection (25.4.1).
#pragma once
#include <numbers>

#include "tidemark/scalar/along.h"

namespace tidemark::scalars::own {

template <class T>
Along<T> zeta_from_zero(const Along<T>& s) {
  constexpr int terms = 16;
  // B₂ₖ/(2k)!
  constexpr double bernoulli[] = {1.0 / 12,          -1.0 / 720,
                                  1.0 / 30240,       -1.0 / 1209600,
                                  1.0 / 47900160,    -691.0 / 1307674368000,
                                  1.0 / 74724249600, -3617.0 / 10670622842880000};
  const auto c = [&](double number) { return steady(s.value, number); };
  const auto power = [&](double base) { return exponential(c(-std::log(base)) * s); };  // base⁻ˢ
  Along<T> sum = c(1);
  for (int n = 2; n < terms; ++n) sum = sum + power(n);
  const Along<T> last = power(terms);
  sum = sum + last / c(2) + c(terms) * last / (s - c(1));
  Along<T> rising = s * last / c(terms);  // s (s+1) … (s+2k-2) terms^(-s-2k+1)
  for (int k = 1; k <= 8; ++k) {
    sum = sum + c(bernoulli[k - 1]) * rising;
    rising = rising * (s + c(2 * k - 1)) * (s + c(2 * k)) / c(terms * terms);
  }
  return sum;
}

template <class T>
T zeta_slope(const T& s) {
  using std::cos, std::sin, std::tgamma;
  const Along<T> at{s, one_like(s)};
  if (plain(s) >= 0) return zeta_from_zero(at).slope;
  const Along<T> mirrored = steady(s, 1) - at;
  const T quarter = s * constant_like(s, std::numbers::pi / 2), gamma = tgamma(mirrored.value);
  const Along<T> wave{sin(quarter), constant_like(s, std::numbers::pi / 2) * cos(quarter)};
  const Along<T> factorial{gamma, -(gamma * digamma(mirrored.value))};
  const Along<T> turns = exponential(steady(s, std::log(2 * std::numbers::pi)) * (at - steady(s, 1)));
  return (steady(s, 2) * turns * wave * factorial * zeta_from_zero(mirrored)).slope;
}

}  // namespace tidemark::scalars::own
