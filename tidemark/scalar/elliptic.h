// Slopes of the elliptic integrals of <cmath> by their modulus k and their characteristic ν: derivatives of
// Carlson's symmetric integrals (DLMF 19.25, 19.36.1, 19.36.2), as duplication computes them. Nothing cancels
// for small k and ν, and ν may be 0 or k².
#pragma once
#include <numbers>

#include "tidemark/scalar/along.h"

namespace tidemark::scalars::own {

// Steps of duplication divide what terms differ by, relative to their mean, by four: after these the series
// has the digits of a double.
inline constexpr double carlson_spread = 1e-3;

template <class T>
bool is_close(const Along<T>& x, const Along<T>& mean) {
  return std::fabs(plain(x.value) - plain(mean.value)) <= carlson_spread * plain(mean.value);
}

template <class T>
Along<T> carlson_f(Along<T> x, Along<T> y, Along<T> z) {
  const auto c = [&](double number) { return steady(x.value, number); };
  Along<T> mean = (x + y + z) / c(3);
  for (int i = 0; i < 60 && !(is_close(x, mean) && is_close(y, mean) && is_close(z, mean)); ++i) {
    const Along<T> a = root(x), b = root(y), d = root(z), step = a * b + b * d + d * a;
    x = (x + step) / c(4), y = (y + step) / c(4), z = (z + step) / c(4), mean = (mean + step) / c(4);
  }
  const Along<T> u = c(1) - x / mean, v = c(1) - y / mean, w = c(0) - u - v;
  const Along<T> second = u * v - w * w, third = u * v * w;
  return (c(1) - second / c(10) + third / c(14) + second * second / c(24) - c(3) * second * third / c(44)) /
         root(mean);
}

// Of p above 0.
template <class T>
Along<T> carlson_j(Along<T> x, Along<T> y, Along<T> z, Along<T> p) {
  const auto c = [&](double number) { return steady(x.value, number); };
  Along<T> mean = (x + y + z + p + p) / c(5), sum = c(0);
  Along<T> apart = (p - x) * (p - y) * (p - z);
  double quarter = 1;  // 4⁻ⁱ
  for (int i = 0;
       i < 60 && !(is_close(x, mean) && is_close(y, mean) && is_close(z, mean) && is_close(p, mean)); ++i) {
    const Along<T> a = root(x), b = root(y), d = root(z), e = root(p), step = a * b + b * d + d * a;
    const Along<T> across = (e + a) * (e + b) * (e + d), beside = c(1) + apart / (across * across);
    sum = sum + c(6 * quarter) / across * carlson_f(c(1), beside, beside);
    x = (x + step) / c(4), y = (y + step) / c(4), z = (z + step) / c(4), p = (p + step) / c(4);
    mean = (mean + step) / c(4);
    quarter /= 4, apart = apart / c(64);
  }
  const Along<T> u = c(1) - x / mean, v = c(1) - y / mean, w = c(1) - z / mean;
  const Along<T> q = c(0) - (u + v + w) / c(2), all = u * v * w;
  const Along<T> e2 = u * v + u * w + v * w - c(3) * q * q, e3 = all + c(2) * e2 * q + c(4) * q * q * q,
                 e4 = (c(2) * all + e2 * q + c(3) * q * q * q) * q, e5 = all * q * q;
  const Along<T> series = c(1) - c(3.0 / 14) * e2 + e3 / c(6) + c(9.0 / 88) * e2 * e2 - c(3.0 / 22) * e4 -
                          c(9.0 / 52) * e2 * e3 + c(3.0 / 26) * e5;
  return sum + c(quarter) * series / (mean * root(mean));
}

// The integrals of the first, second and third kind from 0 to an angle of at most a right one.
template <class T>
struct Elliptic {
  Along<T> first, second, third;

  Elliptic(const Along<T>& k, const Along<T>& nu, const T& sine, const T& cosine) {
    const Along<T> s{sine, zero_like(sine)}, square = s * s, c2{cosine * cosine, zero_like(sine)};
    const Along<T> one = steady(sine, 1), below = one - k * k * square, cubed = s * square / steady(sine, 3);
    first = s * carlson_f(c2, below, one);
    second = first - k * k * cubed * carlson_j(c2, below, one, one);
    third = first + nu * cubed * carlson_j(c2, below, one, one - nu * square);
  }
};

// By k, or by ν: the angle as a number of half turns and a rest.
template <class T>
Elliptic<T> elliptic_to(const T& angle, const Along<T>& k, const Along<T>& nu) {
  using std::cos, std::sin;
  const double turns = std::round(plain(angle) / std::numbers::pi);
  const T rest = angle - constant_like(angle, turns * std::numbers::pi);
  Elliptic<T> all(k, nu, sin(rest), cos(rest));
  if (turns == 0) return all;
  const Elliptic<T> quarter(k, nu, one_like(angle), zero_like(angle));
  const Along<T> times = steady(angle, 2 * turns);
  all.first = all.first + times * quarter.first;
  all.second = all.second + times * quarter.second;
  all.third = all.third + times * quarter.third;
  return all;
}
template <class T>
Elliptic<T> elliptic_by_modulus(const T& k, const T& nu, const T& angle) {
  return elliptic_to(angle, {k, one_like(k)}, {nu, zero_like(nu)});
}
template <class T>
Elliptic<T> elliptic_by_characteristic(const T& k, const T& nu, const T& angle) {
  return elliptic_to(angle, {k, zero_like(k)}, {nu, one_like(nu)});
}
// √(1 - k² sin²)
template <class T>
T elliptic_root(const T& k, const T& angle) {
  using std::sin, std::sqrt;
  const T part = k * sin(angle);
  return sqrt(one_like(k) - part * part);
}

}  // namespace tidemark::scalars::own
