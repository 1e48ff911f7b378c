#include "tidemark/scalar/hessian.h"

#include <gtest/gtest.h>

#include "tidemark/scalar/external.h"
#include "tidemark/scalar/solve.h"

namespace tidemark::scalars {
namespace {

const auto rosenbrock = []<class T>(std::span<const T> x) {
  T sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const T a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
  }
  return sum;
};

Matrix rosenbrock_hessian(const std::vector<double>& x) {
  Matrix h(x.size(), x.size());
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    h(i, i) += 1200 * x[i] * x[i] - 400 * x[i + 1] + 2;
    h(i + 1, i + 1) += 200;
    h(i, i + 1) = h(i + 1, i) = -400 * x[i];
  }
  return h;
}

std::vector<double> point(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 0.3 + 0.1 * static_cast<double>((7 * i) % 11);
  return x;
}

TEST(Hessian, IsTheKnownOne) {
  for (const std::size_t n : {0, 1, 2, 7, 8, 9, 20}) {
    const std::vector<double> x = point(n);
    const Matrix h = hessian(rosenbrock, x), expected = rosenbrock_hessian(x);
    ASSERT_EQ(h.values.size(), n * n);
    for (std::size_t i = 0; i < h.values.size(); ++i) EXPECT_NEAR(h.values[i], expected.values[i], 1e-9);
  }
}

TEST(Hessian, TimesAVector) {
  const std::vector<double> x = point(12), v = {1, -2, 3, 0, 0, 0, 0.5, 1, 1, 1, 0, -1};
  const Matrix h = rosenbrock_hessian(x);
  const std::vector<double> product = hessian_times(rosenbrock, x, v);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += h(i, j) * v[j];
    EXPECT_NEAR(product[i], sum, 1e-9);
  }
  EXPECT_THROW(hessian_times(rosenbrock, x, std::vector<double>{1}), Error);
}

TEST(Hessian, OfFunctionsThatTheDerivativesOfAreNotInTheStatementAlone) {
  const auto f = [](const auto& x) {
    return exp(x[0] * x[1]) / (1 + x[2] * x[2]) + pow(x[0], 3.0) * sin(x[2]);
  };
  const std::vector<double> x = {0.4, 0.7, 1.1};
  const Matrix h = hessian(f, x);
  for (std::size_t j = 0; j < 3; ++j) {
    std::vector<double> above = x, below = x;
    above[j] += 1e-5;
    below[j] -= 1e-5;
    const std::vector<double> up = gradient(f, above), down = gradient(f, below);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(h(i, j), (up[i] - down[i]) / 2e-5, 1e-8);
  }
}

TEST(Hessian, ThroughLinearSystemsAndLinearOrConstantFunctions) {
  const auto f = []<class T>(std::span<const T> x) {
    const std::vector<T> a = {T(x[0] + 3), x[1], x[1], T(x[2] * x[2] + 2)}, b = {x[2], x[0]};
    const std::vector<T> y = solve(a, b);
    return T(y[0] * y[1]);
  };
  const std::vector<double> x = {0.4, 0.7, 1.1};
  const Matrix h = hessian(f, x);
  for (std::size_t j = 0; j < 3; ++j) {
    std::vector<double> above = x, below = x;
    above[j] += 1e-5;
    below[j] -= 1e-5;
    const std::vector<double> up = gradient(f, above), down = gradient(f, below);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(h(i, j), (up[i] - down[i]) / 2e-5, 1e-8);
  }
  EXPECT_EQ(hessian([](const auto& v) { return v[0] + 2 * v[2]; }, x).values, std::vector<double>(9, 0));
  EXPECT_EQ(hessian([](const auto&) { return 4.0; }, x).values, std::vector<double>(9, 0));
}

}  // namespace
}  // namespace tidemark::scalars
