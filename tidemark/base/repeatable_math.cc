#include "tidemark/base/repeatable_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tidemark::repeatable {
namespace {

// ln 2 in two parts: the first has enough zeros at its end that its products with exponents are exact.
constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
constexpr double per_ln2 = 0x1.71547652b82fep+0;

// Taylor's series of exp r - 1, to the given power of r.
constexpr double series(double r, int powers) {
  double sum = 0;
  for (int n = powers; n >= 1; --n) sum = r / n * (1 + sum);
  return sum;
}

// The powers 2^(j / parts) for j < parts.
constexpr int parts = 32;
constexpr std::array<double, parts> powers = [] {
  std::array<double, parts> list{};
  for (int j = 0; j < parts; ++j)
    list[static_cast<std::size_t>(j)] = 1 + series((ln2_high + ln2_low) * j / parts, 24);
  return list;
}();

struct Split {
  int exponent;
  double log;  // of the rest, which is in [√½, √2)
};

// log m = 2 atanh s with s = (m - 1) / (m + 1), |s| < 0.172: a series in s² < 0.03.
Split split(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [1/2, 1); exact
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2, --exponent;
  const double f = m - 1, s = f / (2 + f), z = s * s, zz = z * z;
  const double even = ((((1.0 / 21 * zz + 1.0 / 17) * zz + 1.0 / 13) * zz + 1.0 / 9) * zz + 1.0 / 5) * zz;
  const double odd =
      (((((1.0 / 23 * zz + 1.0 / 19) * zz + 1.0 / 15) * zz + 1.0 / 11) * zz + 1.0 / 7) * zz + 1.0 / 3) * z;
  return {exponent, 2 * s + 2 * s * (even + odd)};
}

}  // namespace

double exp(double x) {
  if (!(x > -746)) return x != x ? x : 0;
  if (x > 710) return std::numeric_limits<double>::infinity();
  // exp x = 2^e · 2^(j / parts) · exp r with |r| < 0.011.
  const int k = static_cast<int>(x * (parts * per_ln2) + (x < 0 ? -0.5 : 0.5));
  const double r = (x - k * (ln2_high / parts)) - k * (ln2_low / parts);
  const double rest =
      r + r * r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))));
  const int j = k & (parts - 1), e = (k - j) / parts;
  const double power = powers[static_cast<std::size_t>(j)], found = power + power * rest;
  if (e < -1000 || e > 1000) return std::ldexp(found, e);
  return found * std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

double log(double x) {
  if (!(x > 0))
    return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (x > std::numeric_limits<double>::max()) return x;
  const Split s = split(x);
  return s.exponent * ln2_high + (s.exponent * ln2_low + s.log);
}

double log2(double x) {
  if (!(x > 0) || x > std::numeric_limits<double>::max()) return log(x);
  const Split s = split(x);
  return s.exponent + s.log * per_ln2;
}

double pow(double x, double y) { return exp(y * log(x)); }

}  // namespace tidemark::repeatable
