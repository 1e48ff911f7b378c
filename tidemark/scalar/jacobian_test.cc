#include "tidemark/scalar/jacobian.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tidemark/scalar/pattern.h"

namespace tidemark::scalars {
namespace {

Matrix by_differences(auto f, std::vector<double> x) {
  const auto values = [&] {
    const std::vector<Real> at(x.begin(), x.end());
    std::vector<double> y;
    for (const Real& each : f(std::span<const Real>(at))) y.push_back(each.value());
    return y;
  };
  Matrix result(values().size(), x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double before = x[j], step = 1e-5;
    x[j] = before + step;
    const std::vector<double> above = values();
    x[j] = before - step;
    const std::vector<double> below = values();
    x[j] = before;
    for (std::size_t i = 0; i < result.rows; ++i) result(i, j) = (above[i] - below[i]) / (2 * step);
  }
  return result;
}

void expect_near(const Matrix& a, const Matrix& b, double tolerance) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.columns, b.columns);
  for (std::size_t i = 0; i < a.values.size(); ++i)
    ASSERT_NEAR(a.values[i], b.values[i], tolerance * (1 + std::abs(b.values[i])))
        << i / a.columns << ", " << i % a.columns;
}

std::vector<double> numbers(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> number(0.2, 1);
  std::vector<double> x(count);
  for (double& each : x) each = number(random);
  return x;
}

// Results of a few variables each, by a chain of intermediate values some of which they share.
auto random_sparse_function(std::size_t columns, std::size_t rows, std::size_t each, unsigned seed) {
  return [=](std::span<const Real> x) {
    std::minstd_rand random(seed);
    std::vector<Real> pairs, y;
    for (std::size_t i = 0; i < columns; ++i) pairs.push_back(x[i] * x[random() % columns] + 0.5 * x[i]);
    for (std::size_t i = 0; i < rows; ++i) {
      Real sum = 0;
      for (std::size_t k = random() % (each + 1); k-- > 0;) {
        const Real& a = pairs[random() % columns];
        sum += a / (1 + x[random() % columns]) + sum * a;
      }
      y.push_back(sum);
    }
    return y;
  };
}

TEST(Jacobian, GradientsAndValues) {
  const auto f = [](std::span<const Real> x) { return x[0] * x[1] + x[2] / x[0]; };
  const std::vector<double> x = {2, 3, 8};
  const auto [value, slopes] = value_and_gradient(f, x);
  EXPECT_EQ(value, 10);
  EXPECT_EQ(slopes, (std::vector<double>{1, 2, 0.5}));
  EXPECT_EQ(gradient(f, x), slopes);
  EXPECT_EQ(gradient([](const std::vector<Real>& v) { return v[1]; }, x), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(gradient([](std::span<const Real>) { return 1.0; }, x), (std::vector<double>{0, 0, 0}));
}

// More results than variables, and the other way round: forward sweeps and reversals.
TEST(Jacobian, OfAnyShape) {
  for (const auto [columns, rows] :
       {std::array<std::size_t, 2>{1, 1}, {3, 70}, {70, 3}, {20, 20}, {17, 400}, {1, 90}}) {
    const auto f = random_sparse_function(columns, rows, 3, 5);
    const std::vector<double> x = numbers(columns, 3);
    expect_near(jacobian(f, x), by_differences(f, x), 1e-6);
  }
}

TEST(Jacobian, WithoutInputsOrResults) {
  const auto nothing = [](std::span<const Real>) { return std::vector<Real>(); };
  const auto constants = [](std::span<const Real>) { return std::array<Real, 2>{1, 2}; };
  const std::vector<double> x = {1, 2, 3};
  EXPECT_EQ(jacobian(nothing, x).columns, 3u);
  EXPECT_EQ(jacobian(nothing, {}).values.size(), 0u);
  EXPECT_EQ(jacobian(constants, {}).rows, 2u);
  EXPECT_EQ(jacobian(constants, x).values, std::vector<double>(6, 0));
  EXPECT_EQ(sparse_jacobian(nothing, x).pattern.entries(), 0u);
  EXPECT_EQ(sparse_jacobian(constants, x).pattern.row_starts, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(sparse_jacobian(constants, {}).dense().rows, 2u);
}

TEST(Jacobian, ResultsThatAreInputsTwiceOrPassive) {
  const auto f = [](std::span<const Real> x) {
    const Real y = x[0] * x[1];
    return std::vector<Real>{y, x[1], 3.0, y, x[1] + 1, y * 0.0};
  };
  const std::vector<double> x = {2, 5};
  const std::vector<double> expected = {5, 2, 0, 1, 0, 0, 5, 2, 0, 1, 0, 0};
  EXPECT_EQ(jacobian(f, x).values, expected);
  EXPECT_EQ(sparse_jacobian(f, x).dense().values, expected);
}

TEST(Jacobian, SparseOnesAreTheDenseOnes) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    for (const auto [columns, rows] : {std::array<std::size_t, 2>{40, 60}, {300, 40}, {30, 700}, {5, 5}}) {
      const auto f = random_sparse_function(columns, rows, 1 + seed % 5, seed);
      const std::vector<double> x = numbers(columns, seed);
      const Matrix dense = jacobian(f, x);
      const SparseMatrix sparse = sparse_jacobian(f, x);
      expect_near(sparse.dense(), dense, 1e-12);
      for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(sparse(i, 0), sparse.dense()(i, 0));
    }
}

TEST(Jacobian, PatternsBySetsAndByBitsAgree) {
  for (const auto [columns, rows] : {std::array<std::size_t, 2>{400, 600}, {600, 400}, {7, 9}}) {
    const auto f = random_sparse_function(columns, rows, 4, 9);
    Tape tape;
    const std::vector<Real> x = tape.inputs(numbers(columns, 2));
    const std::vector<Real> y = f(x);
    const SparsePattern pattern = detect_pattern(tape, y);
    EXPECT_EQ(pattern, detect_pattern_by_bits(tape, y));
    EXPECT_EQ(pattern.transposed().transposed(), pattern);
    EXPECT_FALSE(outside_pattern(tape, y, pattern, SourceLine()));
  }
}

// A stencil needs as many colours as it has points, however many rows there are.
TEST(Jacobian, AStencilIsThreeColours) {
  const auto f = [](std::span<const Real> u) {
    std::vector<Real> y(u.begin(), u.end());
    for (std::size_t i = 1; i + 1 < u.size(); ++i) y[i] = u[i - 1] * u[i] - 2 * u[i] + u[i + 1] * u[i + 1];
    return y;
  };
  const std::vector<double> u = numbers(5000, 4);
  const JacobianPlan plan = plan_jacobian(f, u);
  EXPECT_EQ(plan.colouring.count, 3);
  const SparseMatrix j = sparse_jacobian(f, u, plan);
  EXPECT_EQ(j.pattern.entries(), 3 * 4998 + 2u);
  for (std::size_t i = 1; i + 1 < u.size(); ++i) {
    EXPECT_EQ(j(i, i - 1), u[i]);
    EXPECT_EQ(j(i, i), u[i - 1] - 2);
    EXPECT_EQ(j(i, i + 1), 2 * u[i + 1]);
  }
}

// One full row makes columns as many colours as there are, and rows two.
TEST(Jacobian, AFullRowOrColumnIsNoHindrance) {
  const auto full_row = [](std::span<const Real> x) {
    std::vector<Real> y;
    Real sum = 0;
    for (const Real& each : x) {
      y.push_back(each * each);
      sum += each * y.back();
    }
    y.push_back(sum);
    return y;
  };
  const auto full_column = [](std::span<const Real> x) {
    std::vector<Real> y;
    for (const Real& each : x) y.push_back(each * x[0]);
    return y;
  };
  const std::vector<double> x = numbers(300, 8);
  const JacobianPlan rows = plan_jacobian(full_row, x), columns = plan_jacobian(full_column, x);
  EXPECT_TRUE(rows.by_rows);
  EXPECT_EQ(rows.colouring.count, 2);
  EXPECT_FALSE(columns.by_rows);
  EXPECT_EQ(columns.colouring.count, 2);
  expect_near(sparse_jacobian(full_row, x, rows).dense(), jacobian(full_row, x), 1e-14);
  expect_near(sparse_jacobian(full_column, x, columns).dense(), jacobian(full_column, x), 1e-14);
}

TEST(Jacobian, APlanForAnotherPatternIsRefused) {
  const auto f = [](std::span<const Real> x) {
    std::vector<Real> y;
    for (std::size_t i = 0; i < x.size(); ++i)
      y.push_back(x[i] > 0.1 ? Real(x[i] * 2) : Real(x[i] * x[(i + 1) % x.size()]));
    return y;
  };
  std::vector<double> x = numbers(30, 1);
  const JacobianPlan plan = plan_jacobian(f, x);
  EXPECT_EQ(sparse_jacobian(f, x, plan).pattern.entries(), 30u);
  x[7] = -1;
  EXPECT_THROW(sparse_jacobian(f, x, plan), Error);
  x.pop_back();
  EXPECT_THROW(sparse_jacobian(f, x, plan), Error);
}

struct Square final : Event<double> {
  Real a;
  explicit Square(const Real& of) : a(of) {}
  void reverse(std::span<const double> results, AdjointSink<double>& operands) override {
    operands.add(a.id(), 2 * a.value() * results[0]);
  }
};

TEST(Jacobian, ThroughEvents) {
  const auto f = [](std::span<const Real> x) {
    std::vector<Real> y;
    for (std::size_t i = 0; i < 50; ++i) {
      const std::vector<Real> operand = {x[i % 2] * 3};
      const std::vector<double> result = {operand[0].value() * operand[0].value()};
      y.push_back(Tape::active()->record_event(std::make_unique<Square>(operand[0]), operand, result)[0] +
                  x[2]);
    }
    return y;
  };
  const std::vector<double> x = {1, 2, 3};
  const Matrix j = jacobian(f, x);
  EXPECT_EQ(j(49, 1), 36);
  const SparseMatrix sparse = sparse_jacobian(f, x);
  EXPECT_EQ(sparse.pattern.entries(), 100u);
  EXPECT_EQ(sparse.dense().values, j.values);
}

// A recording of many steps, in which far operands are read and blocks are kept.
TEST(Jacobian, ForwardAlongALongRecording) {
  const auto f = [](std::span<const Real> x) {
    std::vector<Real> y;
    Real u = x[0];
    for (int i = 0; i < 100000; ++i) {
      u = u * 0.9999 + x[1] * 1e-4;
      if (i % 1000 == 0) y.push_back(u * x[0]);
    }
    return y;
  };
  const std::vector<double> x = {0.5, 2};
  expect_near(jacobian(f, x), by_differences(f, x), 1e-7);
  Tape tape;
  const std::vector<Real> inputs = tape.inputs(x);
  const std::vector<Real> y = f(inputs);
  expect_near(tape.jacobian(y, inputs), jacobian(f, x), 1e-12);
}

TEST(Jacobian, InsideOfAnotherRecording) {
  Tape outer;
  const Real a = outer.input(3);
  const auto f = [](std::span<const Real> x) { return x[0] * x[0]; };
  const std::vector<double> at = {a.value()};
  const Real y = a * gradient(f, at)[0];
  EXPECT_THROW(gradient([&](std::span<const Real> x) { return x[0] * a; }, at), Error);
  outer.reverse(y);
  EXPECT_EQ(outer.gradient(a), 6);
}

// By forward sweeps and by reversals.
TEST(Jacobian, AResultOfAnotherTapeIsRefused) {
  Tape outer;
  const Real foreign = outer.input(3) * 2;
  for (const std::size_t results : {1, 200}) {
    const auto f = [&](std::span<const Real> x) {
      std::vector<Real> y(results, x[0] * x[0]);
      y.push_back(foreign);
      return y;
    };
    const auto refuses = [](auto&& body) {
      try {
        body();
        return false;
      } catch (const Error& error) {
        return error.code() == ErrorCode::foreign_real;
      }
    };
    const std::vector<double> at = {2};
    EXPECT_TRUE(refuses([&] { jacobian(f, at); }));
    EXPECT_TRUE(refuses([&] { sparse_jacobian(f, at); }));
    EXPECT_TRUE(refuses([&] { plan_jacobian(f, at); }));
    const auto g = [&](std::span<const Real> x) { return std::vector<Real>(results + 1, x[0] * x[0]); };
    EXPECT_TRUE(refuses([&] { sparse_jacobian(f, at, plan_jacobian(g, at)); }));
  }
}

}  // namespace
}  // namespace tidemark::scalars
