#include "tidemark/ops/scalar/scalar_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tidemark {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

template <class F>
double slope_x(double x, double y) {
  return F::pull_x(1.0, x, y, F::value(x, y));
}
template <class F>
double slope_y(double x, double y) {
  return F::pull_y(1.0, x, y, F::value(x, y));
}

template <class F>
double difference(const F& f, double at) {
  const double h = 1e-5;
  return (f(at + h) - f(at - h)) / (2 * h);
}

TEST(ScalarMath, EverySlopeIsTheLimitOfDifferences) {
  int checked = 0;
  const auto check = [&]<class F>(F, const char* name, double low, double high) {
    if constexpr (formula::HasSlope<F>) {
      for (int i = 0; i < 10; ++i) {
        const double x = low + (high - low) * (i + 0.37) / 10;
        const double expected = difference([](double a) { return F::value(a); }, x);
        EXPECT_NEAR(F::slope(x, F::value(x)), expected, 1e-7 * (1 + std::abs(expected)))
            << name << " at " << x;
        EXPECT_NEAR(formula::pull<F>(3.0, x, F::value(x)), 3 * expected, 1e-6 * (1 + std::abs(expected)))
            << name;
        ++checked;
      }
    }
  };
  const auto check_both = [&]<class F>(F, const char* name, double x0, double x1, double y0, double y1) {
    if constexpr (formula::HasPulls<F>) {
      for (int i = 0; i < 10; ++i) {
        const double x = x0 + (x1 - x0) * (i + 0.37) / 10, y = y1 + (y0 - y1) * (i + 0.71) / 10;
        const double by_x = difference([&](double a) { return F::value(a, y); }, x);
        const double by_y = difference([&](double b) { return F::value(x, b); }, y);
        EXPECT_NEAR(slope_x<F>(x, y), by_x, 1e-7 * (1 + std::abs(by_x))) << name << " at " << x << ", " << y;
        EXPECT_NEAR(slope_y<F>(x, y), by_y, 1e-7 * (1 + std::abs(by_y))) << name << " at " << x << ", " << y;
        ++checked;
      }
    }
  };
#define TM_UNARY(name, Formula, family, dtypes, flops, low, high) check(formula::Formula(), #name, low, high);
#define TM_BINARY(name, Formula, family, dtypes, flops, ...) \
  check_both(formula::Formula(), #name, __VA_ARGS__);
#include "tidemark/ops/scalar/elementwise.def"
  EXPECT_GE(checked, 250);
}

TEST(ScalarMath, TiesOfMaximumAndMinimumAreSharedEqually) {
  EXPECT_EQ(slope_x<formula::Maximum>(2, 2), 0.5);
  EXPECT_EQ(slope_y<formula::Maximum>(2, 2), 0.5);
  EXPECT_EQ(slope_x<formula::Minimum>(2, 3), 1);
  EXPECT_EQ(slope_y<formula::Minimum>(2, 3), 0);
}

TEST(ScalarMath, KinksHaveTheDocumentedSlopes) {
  EXPECT_EQ(formula::Relu::slope(0.0, 0.0), 0);
  EXPECT_EQ(formula::Abs::slope(0.0, 0.0), 0);
  EXPECT_EQ(formula::Sqrt::slope(0.0, 0.0), inf);
  EXPECT_EQ(formula::pull<formula::Relu>(inf, -1.0, 0.0), 0);
}

TEST(ScalarMath, PowerHasFiniteSlopesAtZero) {
  EXPECT_EQ(slope_x<formula::Pow>(0, 0), 0);
  EXPECT_EQ(slope_x<formula::Pow>(0, 1), 1);
  EXPECT_EQ(slope_x<formula::Pow>(0, 2), 0);
  EXPECT_EQ(slope_y<formula::Pow>(0, 2), 0);
  EXPECT_EQ(slope_y<formula::Pow>(0, 0), 0);
  EXPECT_EQ(slope_x<formula::Pow>(-3, 2), -6);
}

TEST(ScalarMath, StableFormsNeitherOverflowNorVanish) {
  EXPECT_EQ(formula::Softplus::value(1000.0), 1000);
  EXPECT_NEAR(formula::Softplus::value(-50.0) / std::exp(-50.0), 1, 1e-15);
  EXPECT_EQ(formula::Sigmoid::value(1000.0), 1);
  EXPECT_NEAR(formula::Sigmoid::value(-700.0) / std::exp(-700.0), 1, 1e-15);
  EXPECT_NEAR(formula::Gelu::value(-10.0), -10 * 7.61985302416052606597e-24, 1e-36);
}

}  // namespace
}  // namespace tidemark
