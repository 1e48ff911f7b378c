// What functions.h writes out, and how existing code finds it.
#include <gtest/gtest.h>

#include <bit>
#include <complex>
#include <numeric>
#include <sstream>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/scalar.h"

namespace tidemark::scalars {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double edges[] = {0.0,   -0.0,   1,      -1,       0.5,       2.5,         -3,
                        1e300, -1e300, 5e-324, infinity, -infinity, std::nan("")};

bool same(double x, double y) {
  return (x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}
bool near(double x, double y, double tolerance = 1e-14) {
  return same(x, y) || std::fabs(x - y) <= tolerance * (std::fabs(x) + std::fabs(y));
}

struct Traced {
  double value;
  std::vector<double> slopes;
  std::size_t statements;
};
template <class F>
Traced trace(const F& f, std::vector<double> at) {
  Tape tape;
  const std::vector<Real> x = tape.inputs(at);
  const auto before = tape.statements();
  const Real y = f(x);
  const auto after = tape.statements();
  tape.reverse(y);
  return {y.value(), tape.gradient(x), static_cast<std::size_t>(after - before)};
}

TEST(NamedFunctions, APowerToAConstantHasTheValueOfDoubleAndNoExponentToPullThrough) {
  for (const double x :
       {0.3, 1.0, 1.7, 2.9, 1e-200, 1e150, 0.0, -0.0, -1.0, -2.5, infinity, -infinity, std::nan("")})
    for (const double c : {0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -2.0, 4.0, 1.5, -0.5, 7.25, 100.0}) {
      const auto [value, slopes, statements] = trace([&](const auto& v) { return std::pow(v[0], c); }, {x});
      EXPECT_TRUE(same(value, std::pow(x, c))) << x << ' ' << c;
      const double slope = formula::Pow::pull_x(1.0, x, c, std::pow(x, c));
      EXPECT_TRUE(near(slopes[0], slope) || (c == 0 && slopes[0] == 0) || (c == 1 && slopes[0] == 1))
          << x << ' ' << c << ": " << slopes[0] << ' ' << slope;
      const Dual<1> dual = pow(Dual<1>::variable(x), c);
      EXPECT_TRUE(same(dual.value(), value) && near(dual.slope(), slopes[0])) << x << ' ' << c;
    }
  const auto cubed =
      trace([](const auto& v) { return std::pow(v[0], 3) + pow(v[0], 2L) + pow(2, v[0]); }, {-1.5});
  EXPECT_EQ(cubed.value, std::pow(-1.5, 3) + std::pow(-1.5, 2) + std::pow(2, -1.5));
  EXPECT_TRUE(near(cubed.slopes[0], 3 * 2.25 - 3 + std::log(2) * std::pow(2, -1.5)));
  EXPECT_EQ(cubed.statements, 1u);
}

TEST(NamedFunctions, APassiveExponentDoesNoHarmBelowZero) {
  const Real passive = 2;
  const auto squared = trace([&](const auto& v) { return pow(v[0], passive); }, {-3});
  EXPECT_EQ(squared.slopes[0], -6);
  EXPECT_EQ(pow(Dual<1>::variable(-3), Dual<1>(2)).slope(), -6);
}

TEST(NamedFunctions, SecondDerivativesOfPowers) {
  for (const double c : {0.0, 1.0, 2.0, 3.0, -1.0, 0.5, 1.0000001, 4.5, -2.0}) {
    BasicTape<Dual<1>> tape;
    const auto x = tape.input(Dual<1>::variable(1.3));
    const BasicReal<Dual<1>> y = pow(x, c);
    tape.reverse(y);
    EXPECT_NEAR(tape.gradient(x).slope(), c * (c - 1) * std::pow(1.3, c - 2), 1e-14 * (1 + c * c)) << c;
  }
}

TEST(NamedFunctions, TheGreaterOfTwoVariablesIsOneOfThemAndTakesNoStatement) {
  const auto greater = trace([](const auto& v) { return std::max(v[0], v[1]); }, {1, 2});
  EXPECT_EQ(greater.slopes, (std::vector<double>{0, 1}));
  EXPECT_EQ(greater.statements, 0u);
  const auto positive = trace([](const auto& v) { return std::max(0.0, v[0]) + std::min(v[0], 1); }, {0.5});
  EXPECT_EQ(positive.slopes[0], 2);
  const auto tie = trace([](const auto& v) { return max(v[0], v[1]); }, {2, 2});
  EXPECT_EQ(tie.slopes, (std::vector<double>{0.5, 0.5}));
  const auto itself = trace([](const auto& v) { return max(v[0], v[0]); }, {2});
  EXPECT_EQ(itself.slopes[0], 1);
  const auto expressions = trace(
      [](const auto& v) {
        return std::max(v[0] * v[1], v[1] * v[0]) + std::max({v[0], v[1], v[0]});
      },
      {2, 3});
  EXPECT_EQ(expressions.value, 9);
  EXPECT_EQ(expressions.slopes, (std::vector<double>{3, 3}));
}

TEST(NamedFunctions, Clamp) {
  for (const double x : edges)
    for (const double low : {-1.0, 0.0, -0.0}) {
      const auto f = [&](const auto& v) { return std::clamp(v[0], low, 1.0); };
      const auto of_expression = [&](const auto& v) { return std::clamp(v[0] * 1.0, low, 1.0); };
      EXPECT_TRUE(same(trace(f, {x}).value, std::clamp(x, low, 1.0))) << x;
      EXPECT_TRUE(same(trace(of_expression, {x}).value, std::clamp(x, low, 1.0))) << x;
      EXPECT_EQ(trace(f, {x}).slopes, trace(of_expression, {x}).slopes) << x;
      EXPECT_TRUE(same(clamp(Dual<1>(x), low, 1.0).value(), std::clamp(x, low, 1.0)));
    }
  const auto of_all = [](const auto& v) { return std::clamp(v[0], v[1], v[2]); };
  EXPECT_EQ(trace(of_all, {0, 1, 2}).slopes, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(trace(of_all, {1, 1, 2}).slopes, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(trace(of_all, {3, 1, 2}).slopes, (std::vector<double>{0, 0, 1}));
}

TEST(NamedFunctions, ThreeOperands) {
  const std::vector<double> at = {1.25, -2.5, 0.3};
  const auto try_it = [&](const auto& f) {
    const Traced traced = trace([&](const auto& v) { return f(v[0], v[1], v[2]); }, at);
    EXPECT_TRUE(same(traced.value, f(at[0], at[1], at[2])));
    const Dual<3> dual =
        f(Dual<3>::variable(at[0]), Dual<3>::variable(at[1], 1), Dual<3>::variable(at[2], 2));
    EXPECT_TRUE(same(dual.value(), traced.value));
    for (int i = 0; i < 3; ++i) {
      std::vector<double> up = at, down = at;
      up[i] += 1e-6, down[i] -= 1e-6;
      const double difference = (f(up[0], up[1], up[2]) - f(down[0], down[1], down[2])) / 2e-6;
      EXPECT_NEAR(traced.slopes[i], difference, 1e-8);
      EXPECT_EQ(dual.slope(i), traced.slopes[i]);
    }
    EXPECT_EQ(trace([&](const auto& v) { return f(v[0], 2.0, v[1]); }, at).statements, 1u);
    EXPECT_TRUE(same(trace([&](const auto& v) { return f(2, v[0], 3); }, at).value, f(2.0, at[0], 3.0)));
  };
  try_it([](const auto& x, const auto& y, const auto& z) { return std::fma(x, y, z); });
  try_it([](const auto& x, const auto& y, const auto& z) { return std::hypot(x, y, z); });
  try_it([](const auto& x, const auto& y, const auto& z) { return std::lerp(x, y, z); });
  EXPECT_EQ(trace([](const auto& v) { return std::hypot(v[0], v[1], v[2]); }, {0, 0, 0}).slopes,
            (std::vector<double>{0, 0, 0}));
}

TEST(NamedFunctions, DigitsOfANumber) {
  for (const double x : edges) {
    int e = 0, f = 0;
    const double mantissa = std::frexp(x, &e);
    EXPECT_TRUE(same(Real(std::frexp(Real(x), &f)).value(), mantissa)) << x;
    EXPECT_TRUE(e == f || !std::isfinite(x)) << x;
    double whole;
    Real real_whole;
    const double fraction = std::modf(x, &whole);
    EXPECT_TRUE(same(Real(std::modf(Real(x), &real_whole)).value(), fraction)) << x;
    EXPECT_TRUE(same(real_whole.value(), whole)) << x;
    double plain_whole;
    EXPECT_TRUE(same(std::modf(Dual<1>(x), &plain_whole).value(), fraction) && same(whole, plain_whole)) << x;
    for (const int n : {0, 3, -7, 1100, -1100, 100000})
      EXPECT_TRUE(same(Real(ldexp(Real(x), n)).value(), std::ldexp(x, n)) &&
                  same(Real(std::scalbn(Real(x), n)).value(), std::scalbn(x, n)) &&
                  same(std::scalbln(Dual<1>(x), n).value(), std::scalbln(x, n)))
          << x << ' ' << n;
    for (const double y : edges) {
      EXPECT_TRUE(same(Real(std::copysign(Real(x), Real(y))).value(), std::copysign(x, y))) << x << ' ' << y;
      EXPECT_TRUE(same(std::copysign(x, Real(y)), std::copysign(x, y))) << x << ' ' << y;
      EXPECT_TRUE(same(Real(std::nextafter(Real(x), y)).value(), std::nextafter(x, y))) << x << ' ' << y;
      EXPECT_TRUE(same(nextafter(Dual<1>(x), y).value(), std::nextafter(x, y))) << x << ' ' << y;
      int q = 0, r = 0;
      const double rest = std::remquo(x, y, &q);
      EXPECT_TRUE(same(Real(std::remquo(Real(x), y, &r)).value(), rest)) << x << ' ' << y;
      EXPECT_TRUE(q == r || rest != rest) << x << ' ' << y;
    }
  }
  int e = 0;
  EXPECT_EQ(trace([&](const auto& v) { return frexp(v[0], &e); }, {12}).slopes[0], 1.0 / 16);
  EXPECT_EQ(trace([&](const auto& v) { return ldexp(v[0], 3) + copysign(v[0], 1); }, {-12}).slopes[0], 7);
  EXPECT_EQ(trace([&](const auto& v) { return copysign(v[0], -2.0); }, {-12}).slopes[0], 1);
  EXPECT_NEAR(trace([&](const auto& v) { return polygamma(1, v[0]); }, {2.5}).slopes[0], polygamma_of(2, 2.5),
              1e-15);
}

TEST(NamedFunctions, SlopesAtTheEdges) {
  const auto slope = [](const auto& f, double x) {
    return trace([&](const auto& v) { return f(v[0]); }, {x}).slopes[0];
  };
  EXPECT_EQ(slope([](const auto& x) { return abs(x); }, 0), 0);
  EXPECT_EQ(slope([](const auto& x) { return sqrt(x); }, 0), infinity);
  EXPECT_EQ(slope([](const auto& x) { return std::cbrt(x); }, 0), infinity);
  EXPECT_EQ(slope([](const auto& x) { return hypot(x, 0.0); }, 0), 0);
  EXPECT_EQ(slope([](const auto& x) { return atan2(x, 0.0); }, 0), 0);
  EXPECT_EQ(slope([](const auto& x) { return tidemark::relu(x); }, 0), 0);
  EXPECT_EQ(slope([](const auto& x) { return std::max(x, 0.0); }, 0), 0.5);
  EXPECT_EQ(slope([](const auto& x) { return std::fmax(x, std::nan("")); }, 3), 1);
  EXPECT_EQ(slope([](const auto& x) { return std::fmax(x * 1.0, 5); }, std::nan("")), 0);
  EXPECT_EQ(slope([](const auto& x) { return std::fmod(x, 0.7); }, 3), 1);
  EXPECT_EQ(slope([](const auto& x) { return std::fmod(3, x); }, 0.7), -4);
}

// A template as programs have them, called with every kind of number.
template <class T>
T norm_of(const std::vector<T>& v) {
  using std::max, std::sqrt;
  T largest = T(0), sum = 0;
  for (const T& x : v) largest = max(largest, T(std::abs(x)));
  if (largest == 0.0) return 0.0;
  for (T x : v) {
    x /= largest;
    sum += x * x;
  }
  const T size = largest * sqrt(sum);
  return size > 1 ? size : size > 0.5 ? T(1) : size * 2.0;
}

TEST(NamedFunctions, CodeThatWasWrittenForDouble) {
  const std::vector<double> at = {3, -4, 12};
  const Traced traced = trace([](const std::vector<Real>& v) { return norm_of<Real>(v); }, at);
  EXPECT_EQ(traced.value, norm_of(at));
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(traced.slopes[i], at[i] / 13, 1e-15);
  EXPECT_DOUBLE_EQ(
      directional([](std::span<const Dual<1>> v) { return norm_of(std::vector(v.begin(), v.end())); }, at,
                  std::vector<double>{0, 0, 1}),
      12.0 / 13);
  EXPECT_EQ(derivative([](auto x) { return x * x * x; }, 2), 12);
  EXPECT_EQ(derivative([](auto) { return 5.0; }, 2), 0);
  EXPECT_EQ(directional(
                [](auto v) {
                  return std::vector{v[0] * v[1], v[1]};
                },
                std::vector<double>{2, 3}, std::vector<double>{1, 10}),
            (std::vector<double>{23, 10}));
  EXPECT_THROW(directional([](auto v) { return v[0]; }, at, std::vector<double>{1}), Error);
}

TEST(NamedFunctions, AConditionalExpressionTakesAnExpressionAndANumber) {
  const auto f = [](const auto& v) -> Real { return v[0] > 1 ? v[0] * v[1] : 0.0; };
  EXPECT_EQ(trace(f, {2, 3}).slopes, (std::vector<double>{3, 2}));
  EXPECT_EQ(trace(f, {0, 3}).slopes, (std::vector<double>{0, 0}));
  EXPECT_EQ(trace(f, {0, 3}).statements, 0u);
  const auto g = [](const auto& v) -> Real { return v[0] > 1 ? exp(v[0]) : 1; };
  EXPECT_EQ(trace(g, {0}).value, 1);
  const auto h = [](const auto& v) -> Real { return v[0] > 1 ? std::fma(v[0], v[0], 1) : v[0]; };
  EXPECT_EQ(trace(h, {0}).slopes[0], 1);
}

}  // namespace

namespace elsewhere {
// Functions of a program that has never heard of ours.
template <class T>
T max(T a, T b) {
  return a < b ? b + 100 : a + 100;
}
template <class T>
T sigmoid(const T& x) {
  return 7 * x;
}
inline Real gelu(Real x) { return 5 * x; }
inline Real sign(Real x) { return x < 0 ? Real(-1) : Real(1); }

TEST(NamedFunctions, AProgramsOwnFunctionsOfTheSameNameAreCalled) {
  Tape tape;
  const Real x = tape.input(2);
  EXPECT_EQ(max(x, Real(1)).value(), 102);
  EXPECT_EQ(sigmoid(x).value(), 14);
  EXPECT_EQ(max(Dual<1>(2), Dual<1>(1)).value(), 102);
  EXPECT_EQ(sigmoid(Dual<1>(2)).value(), 14);
  EXPECT_EQ(gelu(x).value(), 10);
  EXPECT_EQ(gelu(x * 2).value(), 20);
  EXPECT_EQ(sign(x - 2).value(), 1);
  EXPECT_EQ(Real(tidemark::sigmoid(x * 0)).value(), 0.5);
}
}  // namespace elsewhere

namespace {

TEST(NamedFunctions, TruthsAndConstants) {
  constexpr Real half = 0.5, none;
  static_assert(half.value() == 0.5 && !none);
  Tape tape;
  const Real x = tape.input(2);
  int reached = 0;
  if (x) ++reached;
  if (!(x - 2)) ++reached;
  if (x && !Dual<1>(0) && Dual<2>(1)) ++reached;
  for (Real left = x; left; left -= 1) ++reached;
  EXPECT_EQ(reached, 5);
  const Real sum = std::accumulate(&x, &x + 1, Real(0), std::plus<>());
  EXPECT_EQ(sum.id(), x.id());
  EXPECT_EQ(*std::max_element(&x, &x + 1), 2);
}

TEST(NamedFunctions, LimitsAndText) {
  static_assert(std::numeric_limits<Real>::epsilon() == std::numeric_limits<double>::epsilon());
  static_assert(std::numeric_limits<Dual<2>>::max() == std::numeric_limits<double>::max());
  static_assert(std::is_same_v<std::common_type_t<Real, double>, Real>);
  static_assert(!std::is_convertible_v<Real, double> && std::is_constructible_v<double, Real>);
  static_assert(std::is_trivially_copyable_v<Dual<4>> && sizeof(Dual<1>) == 16);
  std::stringstream stream;
  stream.precision(3);
  stream << Real(1.23456) << ' ' << Real(2) * 3 << ' ' << Dual<1>(0.5);
  EXPECT_EQ(stream.str(), "1.23 6 0.5");
  Real read;
  stream >> read;
  EXPECT_EQ(read.value(), 1.23);
  EXPECT_EQ(fmt::format("{:.2f} {} {:>6}", Real(1.239), Real(2) * 0.25, Dual<2>(3)), "1.24 0.5      3");
}

}  // namespace
}  // namespace tidemark::scalars
