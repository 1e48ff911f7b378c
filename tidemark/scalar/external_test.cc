#include "tidemark/scalar/external.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "tests/support/errors.h"
#include "tidemark/scalar/jacobian.h"
#include "tidemark/scalar/solve.h"

namespace tidemark::scalars {
namespace {

// By Gaussian elimination of scalars.
std::vector<Real> eliminate(std::vector<Real> a, std::vector<Real> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k].value()) > std::abs(a[pivot * n + k].value())) pivot = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const Real factor = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
  return b;
}

std::vector<double> numbers(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  std::vector<double> x(count);
  for (double& each : x) each = number(random);
  return x;
}

void expect_near(const Matrix& a, const Matrix& b, double tolerance) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i)
    ASSERT_NEAR(a.values[i], b.values[i], tolerance * (1 + std::abs(b.values[i]))) << i;
}

TEST(External, HasTheAdjointThatIsGiven) {
  Tape tape;
  const std::vector<double> at = {1, 2, 3};
  std::vector<Real> x = tape.inputs(at);
  x.push_back(7);
  const auto sum_and_product = [](std::span<const double> v) {
    return std::vector<double>{std::accumulate(v.begin(), v.end(), 0.0), v[0] * v[1]};
  };
  const auto adjoint = [](std::span<const double> v, std::span<const double> y, std::span<const double> y_bar,
                          std::span<double> v_bar) {
    EXPECT_EQ(y[0], 13);
    for (double& each : v_bar) each += y_bar[0];
    v_bar[0] += y_bar[1] * v[1];
    v_bar[1] += y_bar[1] * v[0];
  };
  const std::vector<Real> y = external(x, sum_and_product, adjoint);
  EXPECT_EQ(y[0].value(), 13);
  const Real z = y[0] * y[1];
  tape.reverse(z);
  x.pop_back();
  EXPECT_EQ(tape.gradient(x), (std::vector<double>{2 + 26, 2 + 13, 2}));
  const std::vector<Real> results = {z, y[1], y[0]};
  EXPECT_EQ(tape.jacobian(results, x).values, (std::vector<double>{28, 15, 2, 2, 1, 0, 1, 1, 1}));
}

TEST(External, OfPassiveNumbersIsACallAlone) {
  const auto twice = [](std::span<const double> v) { return std::vector<double>{2 * v[0]}; };
  const auto never = [](std::span<const double>, std::span<const double>, std::span<const double>,
                        std::span<double>) { FAIL(); };
  const std::vector<Real> x = {4};
  EXPECT_EQ(external(x, twice, never)[0].value(), 8);
  Tape tape;
  EXPECT_EQ(external(x, twice, never)[0].id(), 0u);
  EXPECT_EQ(tape.statements(), 0u);
}

TEST(External, AnErrorOfTheAdjointEndsTheReversalAndLeavesTheTape) {
  Tape tape;
  const std::vector<Real> x = {tape.input(1)};
  bool broken = true;
  const std::vector<Real> y = external(
      x, [](std::span<const double> v) { return std::vector<double>{v[0]}; },
      [&](std::span<const double>, std::span<const double>, std::span<const double> y_bar,
          std::span<double> bar) {
        if (broken) throw std::runtime_error("broken");
        bar[0] = y_bar[0];
      });
  const Real z = y[0] * 3;
  EXPECT_THROW(tape.reverse(z), std::runtime_error);
  EXPECT_THROW(tape.jacobian(y, x), std::runtime_error);
  broken = false;
  tape.reverse(z);
  EXPECT_EQ(tape.gradient(x[0]), 3);
  EXPECT_EQ(tape.jacobian(y, x)(0, 0), 1);
}

TEST(Solve, HasTheDerivativesOfElimination) {
  for (const std::size_t n : {1, 2, 3, 8}) {
    const std::vector<double> at = numbers(n * n + n, static_cast<unsigned>(n));
    const auto split = [n](std::span<const Real> v, auto how) {
      return how(std::vector<Real>(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n * n)),
                 std::vector<Real>(v.begin() + static_cast<std::ptrdiff_t>(n * n), v.end()));
    };
    const auto by_solve = [&](std::span<const Real> v) {
      return split(v, [](const auto& a, const auto& b) { return solve(a, b); });
    };
    const auto by_elimination = [&](std::span<const Real> v) { return split(v, eliminate); };
    expect_near(jacobian(by_solve, at), jacobian(by_elimination, at), 1e-8);
  }
}

TEST(Solve, OfConstantsAndOfSeveralRightHandSides) {
  const std::size_t n = 4, m = 3;
  const std::vector<double> a = numbers(n * n, 3), b = numbers(n * m, 4);
  const auto constant_matrix = [&](std::span<const Real> v) { return solve(a, v); };
  const auto constant_side = [&](std::span<const Real> v) { return solve(v, b); };
  const auto columns = [&](auto matrix, auto side) {
    return [=](std::span<const Real> v) {
      std::vector<Real> all(n * m);
      for (std::size_t c = 0; c < m; ++c) {
        std::vector<Real> column(n);
        for (std::size_t i = 0; i < n; ++i) column[i] = side(v, i * m + c);
        const std::vector<Real> x = eliminate(matrix(v), column);
        for (std::size_t i = 0; i < n; ++i) all[i * m + c] = x[i];
      }
      return all;
    };
  };
  const auto constants = [&](std::span<const Real>) { return std::vector<Real>(a.begin(), a.end()); };
  const auto variables = [&](std::span<const Real> v) { return std::vector<Real>(v.begin(), v.end()); };
  expect_near(jacobian(constant_matrix, b),
              jacobian(columns(constants, [](std::span<const Real> v, std::size_t i) { return v[i]; }), b),
              1e-9);
  expect_near(
      jacobian(constant_side, a),
      jacobian(columns(variables, [&](std::span<const Real>, std::size_t i) { return Real(b[i]); }), a),
      1e-9);
}

TEST(Solve, WrongShapesAndSingularMatricesAreRefused) {
  Tape tape;
  const std::vector<Real> x = tape.inputs(std::vector<double>{1, 2, 2, 4});
  const std::vector<double> b = {1, 2}, three = {1, 2, 3};
  EXPECT_THROW(solve(x, b), Error);
  EXPECT_THROW(solve(std::span(x).first(3), b), Error);
  EXPECT_THROW(solve(x, three), Error);
  EXPECT_TRUE(solve(std::vector<Real>(), std::vector<Real>()).empty());
  EXPECT_EQ(tape.statements(), 4u);
}

TEST(External, AReversalThatUsesItsOwnTapeIsRefused) {
  Tape tape;
  const std::vector<Real> x = {tape.input(2)};
  const auto mark = tape.mark();
  const Real other = x[0] * 3;
  std::function<void()> in_reversal;
  const Real y = external(
                     x, [](std::span<const double> a) { return std::vector<double>{a[0] * a[0]}; },
                     [&](std::span<const double> a, std::span<const double>, std::span<const double> by_y,
                         std::span<double> by_x) {
                       in_reversal();
                       by_x[0] = 2 * a[0] * by_y[0];
                     })[0] *
                 x[0];
  const std::vector<std::function<void()>> uses = {
      [&] { tape.reverse(other); },
      [&] { tape.clear(); },
      [&] { tape.input(1); },
      [&] { tape.rewind(mark); },
      [&] { tape.reverse_lanes<4>({}); },
  };
  for (const auto& use : uses) {
    in_reversal = use;
    EXPECT_EQ(testing::code_of([&] { tape.reverse(y); }), ErrorCode::bad_tape_use);
    EXPECT_EQ(testing::code_of([&] { tape.jacobian(std::vector<Real>{y}, x); }), ErrorCode::bad_tape_use);
  }
  in_reversal = [] {
    Tape inner;
    const Real u = inner.input(3);
    inner.reverse(u * u);
    EXPECT_EQ(inner.gradient(u), 6);
  };
  tape.reverse(y);
  EXPECT_EQ(tape.gradient(x[0]), 12);
}

}  // namespace
}  // namespace tidemark::scalars
