// The tiles against long double, over the whole range, on every SIMD target this machine can run.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "hwy/targets.h"
#include "tidemark/ops/scalar/elementwise_tiles.h"
#include "tidemark/ops/scalar/erf_inverse.h"

namespace tidemark {
namespace {

using Real = long double;

// Runs f once per SIMD target.
template <class F>
void on_every_target(const F& f) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    f(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

// The distance in units of the last place of the exact result; infinity counts as the power of two it stands
// for.
template <class T>
double ulps(T got, Real exact) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(rounded))
    return std::isnan(got) == std::isnan(rounded) ? 0 : Limits::max();
  const Real beyond = std::ldexp(Real(1), Limits::max_exponent);
  const auto finite = [&](Real x) {
    return std::isinf(x) || std::abs(x) > beyond ? std::copysign(beyond, x) : x;
  };
  const Real a = finite(got), b = finite(exact);
  int exponent = 0;
  std::frexp(b, &exponent);
  if (b == 0 || exponent < Limits::min_exponent) exponent = Limits::min_exponent;
  return static_cast<double>(
      std::abs(a - b) / std::ldexp(Real(1), std::min<int>(exponent, Limits::max_exponent) - Limits::digits));
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0), Limits::denorm_min(), Limits::min() / 2, Limits::min(), Limits::epsilon(), T(0.5), T(1),
              std::nextafter(T(1), T(0)), T(2), T(3), Limits::max(), Limits::infinity()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(Limits::quiet_NaN());
  return values;
}

// Any bit pattern, and the middle of the range more densely; multiples of π/2 for the circular functions.
template <class T>
std::vector<T> arguments(int count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 random(7);
  std::vector<T> values = special_values<T>();
  const auto uniform = [&](double bound) {
    return static_cast<T>(std::uniform_real_distribution<double>(-bound, bound)(random));
  };
  for (int i = 0; i < count; ++i) {
    values.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    for (double bound : {1.0, 4.0, 20.0, 110.0, 750.0, 39000.0}) values.push_back(uniform(bound));
    values.push_back(static_cast<T>(i * 1.57079632679489661923L));
  }
  return values;
}

template <class T>
std::vector<T> run(Tile tile, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> z(x.size());
  tile({.in = {reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<const std::byte*>(y.data()),
               nullptr},
        .out = reinterpret_cast<std::byte*>(z.data()),
        .n = static_cast<std::int64_t>(x.size())});
  return z;
}

struct Worst {
  double error = 0, x = 0, y = 0, got = 0;
};
std::ostream& operator<<(std::ostream& out, const Worst& w) {
  return out << w.error << " ulp at x = " << w.x << ", y = " << w.y << ": " << w.got;
}

template <class T, class Reference>
Worst worst_unary(Tile tile, int count, Reference reference, bool product = false) {
  const std::vector<T> x = arguments<T>(count), z = run(tile, x, x);
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double error = ulps(z[i], reference(static_cast<Real>(x[i])));
    if (product && std::abs(z[i]) < std::numeric_limits<T>::min() * 1000)
      error /= std::max(T(1), std::abs(x[i]));
    if (error > worst.error) worst = {error, static_cast<double>(x[i]), 0, static_cast<double>(z[i])};
  }
  return worst;
}

Real sigmoid(Real x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
Real softplus(Real x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
Real distribution(Real x) { return std::erfc(-x / std::sqrt(Real(2))) / 2; }
// Products with x: at -inf the product of the definition, NaN; where the other factor is subnormal its last
// digit is worth |x| units.
Real silu(Real x) { return x * sigmoid(x); }
Real gelu(Real x) { return std::max(x, Real(-100)) * distribution(x); }  // 0 at -infinity
Real density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>); }

// By Newton's method on erf, and on erfc towards the ends, from the function that is tested.
Real erf_inverse_of(Real x) {
  if (!(std::abs(x) < 1)) {
    return std::abs(x) == 1 ? std::copysign(std::numeric_limits<Real>::infinity(), x)
                            : std::numeric_limits<Real>::quiet_NaN();
  }
  const Real a = std::abs(x);
  Real y = erf_inverse(static_cast<double>(a));
  if (!std::isfinite(y)) y = 5.9L;
  for (int i = 0; i < 3; ++i) {
    const Real miss = a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= miss * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi_v<Real>);
  }
  return std::copysign(y, x);
}

struct Case {
  const char* name;
  Row row;
  Real (*reference)(Real);
  double f32_bound, f64_bound;
  bool product = false;
};
#define TM_CASE(name, reference, ...)                                       \
  Case {                                                                    \
#name, Row::name, [](Real x) -> Real { return reference; }, __VA_ARGS__ \
  }
const Case cases[] = {
    TM_CASE(exp, std::exp(x), 1.5, 1.5),      TM_CASE(expm1, std::expm1(x), 4, 4),
    TM_CASE(log, std::log(x), 1.5, 1.5),      TM_CASE(log1p, std::log1p(x), 3, 3),
    TM_CASE(sin, std::sin(x), 3, 3),          TM_CASE(cos, std::cos(x), 3, 3),
    TM_CASE(tan, std::tan(x), 1, 1),          TM_CASE(tanh, std::tanh(x), 4, 4),
    TM_CASE(sigmoid, sigmoid(x), 3, 3),       TM_CASE(erf, std::erf(x), 4, 3),
    TM_CASE(gelu, gelu(x), 6, 7, true),       TM_CASE(silu, silu(x), 4, 4, true),
    TM_CASE(softplus, softplus(x), 4, 4),     TM_CASE(exp2, std::exp2(x), 1, 1),
    TM_CASE(log2, std::log2(x), 1, 1),        TM_CASE(log10, std::log10(x), 2, 2),
    TM_CASE(asin, std::asin(x), 1, 1),        TM_CASE(acos, std::acos(x), 1, 1),
    TM_CASE(atan, std::atan(x), 1, 1),        TM_CASE(sinh, std::sinh(x), 2, 2),
    TM_CASE(cosh, std::cosh(x), 2, 2),        TM_CASE(asinh, std::asinh(x), 2, 2),
    TM_CASE(acosh, std::acosh(x), 2, 2),      TM_CASE(atanh, std::atanh(x), 2, 2),
    TM_CASE(erfinv, erf_inverse_of(x), 1, 4), TM_CASE(lgamma, std::lgamma(x), 1, 5),
};

TEST(ElementwiseAccuracy, FunctionsStayWithinTheirBoundsOverTheWholeRange) {
  on_every_target([](const char* target) {
    for (const Case& c : cases) {
      const Worst f32 = worst_unary<float>(math_tile(c.row, DType::f32), 3000, c.reference, c.product);
      const Worst f64 = worst_unary<double>(math_tile(c.row, DType::f64), 3000, c.reference, c.product);
      EXPECT_LE(f32.error, c.f32_bound) << c.name << " f32 on " << target << ": " << f32;
      EXPECT_LE(f64.error, c.f64_bound) << c.name << " f64 on " << target << ": " << f64;
    }
  });
}

// It crosses zero near -0.75: what counts there is the distance to the exact value, not to its last digit.
TEST(ElementwiseAccuracy, TheSlopeOfGeluIsExactToAFewRoundings) {
  on_every_target([](const char* target) {
    const auto worst = [&]<class T>(T) {
      const std::vector<T> x = arguments<T>(3000);
      const std::vector<T> z = run(math_tile(Row::gelu_slope, dtype_of<T>), x, x);
      Real error = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(x[i])) continue;
        error = std::max(error, std::abs(z[i] - (distribution(x[i]) + x[i] * density(x[i]))));
      }
      return static_cast<double>(error / std::numeric_limits<T>::epsilon());
    };
    EXPECT_LE(worst(float()), 3) << target;
    EXPECT_LE(worst(double()), 3) << target;
  });
}

template <class T>
Worst worst_pow(Tile tile) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> small(-4, 4), exponent(-30, 30), scale(-80, 80);
  std::vector<T> x, y;
  for (T a : special_values<T>()) {
    for (T b : special_values<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (int i = 0; i < 3000; ++i) {
    x.push_back(static_cast<T>(std::abs(small(random))));
    y.push_back(static_cast<T>(exponent(random)));
    x.push_back(static_cast<T>(small(random)));
    y.push_back(static_cast<T>(std::floor(exponent(random))));
    x.push_back(static_cast<T>(std::exp(scale(random))));
    y.push_back(static_cast<T>(small(random)));
  }
  const std::vector<T> z = run(tile, x, y);
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(z[i], std::pow(static_cast<Real>(x[i]), static_cast<Real>(y[i])));
    if (error > worst.error) {
      worst = {error, static_cast<double>(x[i]), static_cast<double>(y[i]), static_cast<double>(z[i])};
    }
  }
  return worst;
}

TEST(ElementwiseAccuracy, PowerAgreesWithTheStandardLibraryIncludingZerosInfinitiesAndSigns) {
  on_every_target([](const char* target) {
    const Worst f32 = worst_pow<float>(math_tile(Row::pow, DType::f32));
    const Worst f64 = worst_pow<double>(math_tile(Row::pow, DType::f64));
    EXPECT_LE(f32.error, 1) << "f32 on " << target << ": " << f32;
    EXPECT_LE(f64.error, 1) << "f64 on " << target << ": " << f64;
  });
}

TEST(ElementwiseAccuracy, TheAngleOfEveryPairOfSpecialValuesIsRight) {
  on_every_target([](const char* target) {
    const auto check = [&]<class T>(T) {
      std::vector<T> y, x;
      for (T a : special_values<T>()) {
        for (T b : special_values<T>()) y.push_back(a), x.push_back(b);
      }
      const std::vector<T> z = run(math_tile(Row::atan2, dtype_of<T>), y, x);
      for (std::size_t i = 0; i < z.size(); ++i) {
        EXPECT_LE(ulps(z[i], std::atan2(static_cast<Real>(y[i]), static_cast<Real>(x[i]))), 2)
            << "atan2(" << y[i] << ", " << x[i] << ") on " << target;
      }
    };
    check(float());
    check(double());
  });
}

TEST(ElementwiseAccuracy, SquareRootsAndQuotientsAreRoundedOnce) {
  on_every_target([](const char* target) {
    const auto half_ulp = [&](Row row, Real (*reference)(Real), double bound) {
      const Worst f32 = worst_unary<float>(arithmetic_tile(row, DType::f32), 1000, reference);
      const Worst f64 = worst_unary<double>(arithmetic_tile(row, DType::f64), 1000, reference);
      EXPECT_LE(f32.error, bound) << target << ": " << f32;
      EXPECT_LE(f64.error, bound) << target << ": " << f64;
    };
    half_ulp(
        Row::sqrt, [](Real x) { return std::sqrt(x); }, 0.5001);
    half_ulp(
        Row::reciprocal, [](Real x) { return 1 / x; }, 0.5001);
    half_ulp(
        Row::rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 1.5);
  });
}

TEST(ElementwiseAccuracy, SignedZerosAreKeptByOddFunctions) {
  for (Row row : {Row::expm1, Row::log1p, Row::sin, Row::tan, Row::tanh, Row::erf, Row::asin, Row::atan,
                  Row::sinh, Row::asinh, Row::atanh, Row::erfinv}) {
    for (float x : {0.0f, -0.0f}) {
      const std::vector<float> z = run<float>(math_tile(row, DType::f32), {x}, {x});
      EXPECT_EQ(std::bit_cast<std::uint32_t>(z[0]), std::bit_cast<std::uint32_t>(x)) << static_cast<int>(row);
    }
  }
}

// The tail of a tile takes the same vector code, so an element's bits depend neither on n nor on its
// position.
TEST(ElementwiseAccuracy, BitsDoNotDependOnThePlaceInTheTile) {
  const std::vector<float> x = arguments<float>(20);
  for (const Case& c : cases) {
    const std::vector<float> whole = run(math_tile(c.row, DType::f32), x, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::vector<float> one = run<float>(math_tile(c.row, DType::f32), {x[i]}, {x[i]});
      ASSERT_EQ(std::bit_cast<std::uint32_t>(one[0]), std::bit_cast<std::uint32_t>(whole[i]))
          << c.name << " " << x[i];
    }
  }
}

}  // namespace
}  // namespace tidemark
