// A program as they are: everything of <cmath> in its spellings, containers, algorithms. It knows nothing of
// Reals but that its number is a template parameter.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <valarray>
#include <vector>

#include "tidemark/scalar/scalar.h"

namespace program {

using namespace std;  // NOLINT: as programs do

template <class T>
struct Vec {
  T x, y;
};
template <class T>
Vec<T> operator*(const T& a, const Vec<T>& v) {
  return {a * v.x, a * v.y};
}
template <class T>
T smooth(const T& x) {
  return x < T(0) ? T(0) : std::tanh(x) * std::tanh(x);
}
template <class T>
T all(T x, T y) {
  T r = sin(x) + cos(y) + pow(x, 2.0f) + pow(x, 3u) + max(x, y) + min(x, T(1)) + fabs(x) + abs(y) +
        sqrt(x * x + y * y) + exp(-x) + log(1 + x * x) + hypot(x, y) + atan2(y, x) + fmod(x, 2.0) + floor(x) +
        (x > y ? x : y) + (x > 0 ? x * y : 0.0) + std::max<T>(x, 2.0) + std::clamp<T>(x, 0.0, 1.0) +
        std::fmax(x, 0) + tgamma(x) + lgamma(x) + erf(x) + erfc(y) + cbrt(x) + std::pow(2.0, x) +
        std::pow(x, y) + fma(x, y, T(1)) + std::fma(x, 2.0, y) + expm1(x) + log1p(x * x) + log2(x * x + 1) +
        log10(x * x + 1) + exp2(x) + round(x) + trunc(y) + copysign(x, y) + smooth(x);
  std::valarray<T> v = {x, y, x};
  r += v.sum() + (v * v).sum();
  std::valarray<T> w = std::exp(v);
  r += w[0];
  std::function<T(T)> f = [](T a) { return a * 2.0; };
  r += f(x);
  std::map<int, T> m;
  m[1] += x;
  r += m[1];
  std::vector<T> u(3, T(1));
  u[0] = x;
  u[1] = y;
  std::sort(u.begin(), u.end());
  r += *std::max_element(u.begin(), u.end()) + std::inner_product(u.begin(), u.end(), u.begin(), T(0)) +
       std::accumulate(u.begin(), u.end(), T(0));
  Vec<T> q = x * Vec<T>{x, y};
  r += q.x;
  auto [lo, hi] = std::minmax(x, y);
  r += hi - lo;
  T arr[2] = {x, 0};
  std::swap(arr[0], arr[1]);
  r += arr[1];
  int n = static_cast<int>(floor(x));
  r += n;
  if (isnan(r) || !isfinite(r)) r = 0;
  std::transform(u.begin(), u.end(), u.begin(), [](const T& a) { return T(std::sin(a)); });
  r -= u[0];
  r = -r;
  r = +r;
  r++;
  --r;
  return r;
}

}  // namespace program

namespace tidemark::scalars {
namespace {

TEST(ExistingCode, RunsWithEveryKindOfNumberAndKeepsItsBits) {
  const double value = program::all(0.7, 1.3);
  Tape tape;
  const Real x = tape.input(0.7), y = tape.input(1.3);
  const Real real = program::all(x, y);
  tape.reverse(real);
  const Dual<2> dual = program::all(Dual<2>::variable(0.7), Dual<2>::variable(1.3, 1));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(real.value()), std::bit_cast<std::uint64_t>(value));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(dual.value()), std::bit_cast<std::uint64_t>(value));
  const double h = 1e-6;
  EXPECT_NEAR(tape.gradient(x), (program::all(0.7 + h, 1.3) - program::all(0.7 - h, 1.3)) / (2 * h), 1e-6);
  EXPECT_NEAR(tape.gradient(y), (program::all(0.7, 1.3 + h) - program::all(0.7, 1.3 - h)) / (2 * h), 1e-6);
  EXPECT_NEAR(dual.slope(0), tape.gradient(x), 1e-12);
  EXPECT_NEAR(dual.slope(1), tape.gradient(y), 1e-12);

  BasicTape<Dual<1>> second;
  const auto u = second.input(Dual<1>::variable(0.7)), v = second.input(Dual<1>(1.3));
  const BasicReal<Dual<1>> w = program::all(u, v);
  second.reverse(w);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(w.value().value()), std::bit_cast<std::uint64_t>(value));
  EXPECT_NEAR(second.gradient(v).value(), tape.gradient(y), 1e-12);
}

TEST(ExistingCode, ComparesInThreeWays) {
  const Real one = 1, two = 2, none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE((one <=> two) < 0);
  EXPECT_TRUE((two * one <=> 1) > 0);
  EXPECT_TRUE((1.0 <=> one) == 0);
  EXPECT_EQ(none <=> one, std::partial_ordering::unordered);
  EXPECT_LT((std::pair{one, two}), (std::pair{one, Real(3)}));
}

}  // namespace
}  // namespace tidemark::scalars
