#include "tidemark/scalar/sparse_hessian.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "tidemark/scalar/complex.h"
#include "tidemark/scalar/solve.h"
#include "tidemark/scalar/std_functions.h"

namespace tidemark::scalars {
namespace {

std::vector<double> point(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = 0.3 + 0.1 * static_cast<double>((7 * i) % 11) + 1e-3 * std::sin(i);
  return x;
}

void expect_near(const Matrix& a, const Matrix& b, double tolerance) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.columns, b.columns);
  for (std::size_t i = 0; i < a.values.size(); ++i)
    ASSERT_NEAR(a.values[i], b.values[i], tolerance * (1 + std::abs(b.values[i])))
        << i / a.columns << ", " << i % a.columns;
}

Matrix by_differences(auto& f, std::vector<double> x) {
  Matrix h(x.size(), x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double before = x[j], step = 1e-5;
    x[j] = before + step;
    const std::vector<double> above = gradient(f, x);
    x[j] = before - step;
    const std::vector<double> below = gradient(f, x);
    x[j] = before;
    for (std::size_t i = 0; i < x.size(); ++i) h(i, j) = (above[i] - below[i]) / (2 * step);
  }
  return h;
}

// Terms of a few variables each, some of them by intermediate values that they share.
auto random_sparse_function(std::size_t terms, unsigned seed) {
  return [=]<class T>(std::span<const T> x) {
    std::minstd_rand random(seed);
    std::vector<T> pool(x.begin(), x.end());
    const auto any = [&] { return pool[random() % pool.size()]; };
    T sum = 0;
    for (std::size_t k = 0; k < terms; ++k) {
      const T a = any(), b = any(), c = any();
      T term = 0;
      switch (random() % 8) {
        case 0:
          term = a * b;
          break;
        case 1:
          term = a / (1 + b * b);
          break;
        case 2:
          term = sin(a) + 0.5 * b;
          break;
        case 3:
          term = a + b - 2 * c;
          break;
        case 4:
          term = pow(a, 2) * 0.3 + std::hypot(b, c + 3);
          break;
        case 5:
          term = exp(-a * a) * c;
          break;
        case 6:
          term = std::max(a, b) + sqrt(c * c + 1);
          break;
        default:
          term = pow(1 + a * a, 0.3 * b);
          break;
      }
      if (random() % 8 == 0) pool.push_back(term);
      sum += random() % 3 == 0 ? T(term * term) : term;
    }
    return sum;
  };
}

TEST(SparseHessian, IsTheDenseOne) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::size_t n = 5 + seed;
    const auto f = random_sparse_function(1 + 3 * (seed % 10), seed);
    const std::vector<double> x = point(n);
    const SparseMatrix h = sparse_hessian(f, x);
    expect_near(h.dense(), hessian(f, x), 1e-12);
    expect_near(h.dense(), by_differences(f, x), 1e-5);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(h(i, j), h(j, i));
  }
}

// A sum of terms is not nonlinear in them, and what a square knows of is its own: no entry too many.
TEST(SparseHessian, ThePatternIsThatOfTheNonlinearTerms) {
  const auto f = [](const auto& x) { return x[0] * x[1] + x[2] * x[2] + 3 * x[3] + exp(x[4]) / x[0] - x[5]; };
  const HessianPlan plan = plan_hessian(f, point(6));
  const std::vector<std::vector<std::int32_t>> rows = {{0, 1, 4}, {0}, {2}, {}, {0, 4}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(std::vector<std::int32_t>(plan.pattern.row(i).begin(), plan.pattern.row(i).end()), rows[i])
        << i;
  EXPECT_EQ(plan.holds, PatternHolds::everywhere);
}

const auto membrane = [](const auto& u) {
  using T = std::remove_cvref_t<decltype(u[0])>;
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(u.size())));
  T energy = 0;
  for (std::size_t i = 0; i + 1 < side; ++i)
    for (std::size_t j = 0; j + 1 < side; ++j) {
      const T dx = u[i * side + j + 1] - u[i * side + j], dy = u[(i + 1) * side + j] - u[i * side + j];
      energy += sqrt(1 + dx * dx + dy * dy);
    }
  return energy;
};

TEST(SparseHessian, AGridTakesAsManyColoursWhateverItsSize) {
  const HessianPlan small = plan_hessian(membrane, point(20 * 20)),
                    large = plan_hessian(membrane, point(90 * 90));
  EXPECT_LE(large.colouring.count, small.colouring.count + 1);
  EXPECT_LE(large.colouring.count, 10);
  expect_near(sparse_hessian(membrane, point(8 * 8)).dense(), hessian(membrane, point(8 * 8)), 1e-12);
}

// The adjoint of the variable that all meet is a sum of as many terms as there are others.
TEST(SparseHessian, OneVariableThatMeetsAllOthersIsNoHindrance) {
  const auto f = [](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    T sum = 0;
    for (std::size_t i = 1; i < x.size(); ++i) sum += sin(x[0] * x[i]);
    return sum;
  };
  const std::size_t n = 20000;
  const std::vector<double> x = point(n);
  const HessianPlan plan = plan_hessian(f, x);
  EXPECT_EQ(plan.pattern.entries(), 3 * n - 2);
  EXPECT_EQ(plan.colouring.count, 2);
  const SparseMatrix h = sparse_hessian(f, x, plan);
  for (std::size_t i = 1; i < n; ++i)
    EXPECT_NEAR(h(0, i), std::cos(x[0] * x[i]) - x[0] * x[i] * std::sin(x[0] * x[i]), 1e-12);
}

TEST(SparseHessian, APlanFromAPointAtWhichAllVanishesServesAtOthers) {
  const auto f = [](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    T sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const T d = x[i] - x[i + 1];
      sum += d * d * d * d;
    }
    return sum;
  };
  const HessianPlan plan = plan_hessian(f, std::vector<double>(30, 0.0));
  EXPECT_EQ(plan.holds, PatternHolds::everywhere);
  expect_near(sparse_hessian(f, point(30), plan).dense(), hessian(f, point(30)), 1e-12);
}

TEST(SparseHessian, APlanForOtherBranchesIsRefused) {
  const auto f = [](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    T sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += x[i] > 0.1 ? T(x[i] * x[i]) : T(x[i] * x[(i + 2) % x.size()]);
    return sum;
  };
  std::vector<double> x = point(30);
  const HessianPlan plan = plan_hessian(f, x);
  EXPECT_EQ(plan.holds, PatternHolds::on_these_branches);
  x[3] = 5;
  EXPECT_EQ(sparse_hessian(f, x, plan).pattern.entries(), 30u);
  x[7] = -1;
  try {
    sparse_hessian(f, x, plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_tape_use);
    EXPECT_NE(std::string(error.what()).find("row 7, column 9"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("sparse_hessian_test.cc"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(sparse_hessian(f, x));
}

// Each way in which a number can be looked at.
TEST(SparseHessian, WhatLooksAtANumberBranches) {
  const auto branches = [](auto f) {
    return plan_hessian(f, std::vector<double>{0.7, 0.4}).holds == PatternHolds::on_these_branches;
  };
  EXPECT_FALSE(branches([](const auto& v) { return v[0] * sqrt(v[1]); }));
  EXPECT_TRUE(branches([](const auto& v) { return std::max(v[0] * v[1], v[0]); }));
  EXPECT_TRUE(branches([](const auto& v) { return floor(v[0]) * v[1] * v[1]; }));
  EXPECT_TRUE(branches([](const auto& v) { return value(value(v[0])) * v[1] * v[1]; }));
  EXPECT_TRUE(branches([](const auto& v) { return v[0] != 1 ? v[1] * v[1] : v[0] * v[0]; }));
  EXPECT_TRUE(branches([](const auto& v) { return v[0] ? v[1] * v[1] : v[0] * v[0]; }));
}

SparsePattern tridiagonal(std::int32_t n) {
  SparsePattern pattern(static_cast<std::size_t>(n), static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) {
    std::vector<std::int32_t> row;
    for (std::int32_t j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) row.push_back(j);
    pattern.append_row(row);
  }
  return pattern;
}
const auto rosenbrock = []<class T>(std::span<const T> x) {
  T sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const T a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
  }
  return sum;
};

TEST(SparseHessian, OfAPatternThatIsKnown) {
  const SparseMatrix h = sparse_hessian(rosenbrock, point(200), tridiagonal(200));
  EXPECT_EQ(h.pattern, plan_hessian(rosenbrock, point(200)).pattern);
  expect_near(h.dense(), hessian(rosenbrock, point(200)), 1e-12);
}

TEST(SparseHessian, PatternsThatAreNoneAreRefusedWithTheLine) {
  const auto refusal = [](const SparsePattern& pattern, std::size_t n) -> std::string {
    try {
      sparse_hessian(rosenbrock, point(n), pattern);
      return "";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("sparse_hessian_test.cc"), std::string::npos) << error.what();
      return error.what();
    }
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(refusal(tridiagonal(9), 8), "a pattern of 9 x 9 at a point of 8 numbers"));
  SparsePattern wide = tridiagonal(9);
  wide.columns = 10;
  EXPECT_TRUE(says(refusal(wide, 9), "9 rows and 10 columns"));
  SparsePattern lopsided = tridiagonal(9);
  lopsided.column_indices[0] = 5;
  lopsided.column_indices[1] = 6;
  EXPECT_TRUE(says(refusal(lopsided, 9), "an entry (1, 0) and no (0, 1)") ||
              says(refusal(lopsided, 9), "an entry (0, 5) and no (5, 0)"))
      << refusal(lopsided, 9);
  SparsePattern descending = tridiagonal(9);
  std::swap(descending.column_indices[0], descending.column_indices[1]);
  EXPECT_TRUE(says(refusal(descending, 9), "column 0 at place 1 of row 0"));
  SparsePattern outside = tridiagonal(9);
  outside.column_indices.back() = 9;
  EXPECT_TRUE(says(refusal(outside, 9), "column 9"));
  SparsePattern cut = tridiagonal(9);
  cut.row_starts.pop_back();
  EXPECT_TRUE(says(refusal(cut, 9), "row_starts"));
}

TEST(SparseHessian, APatternWithTooFewEntriesIsNoticed) {
  SparsePattern diagonal(50, 50);
  for (std::int32_t i = 0; i < 50; ++i) diagonal.append_row(std::vector<std::int32_t>{i});
  EXPECT_THROW(sparse_hessian(rosenbrock, point(50), diagonal), Error);
}

TEST(SparseHessian, ThroughLinearSystemsComplexNumbersAndConstants) {
  const auto solved = []<class T>(std::span<const T> x) {
    const std::vector<T> a = {T(x[0] + 3), x[1], x[1], T(x[2] * x[2] + 2)}, b = {x[2], x[0]};
    const std::vector<T> y = solve(a, b);
    return T(y[0] * y[1] + x[3] * x[3]);
  };
  expect_near(sparse_hessian(solved, point(4)).dense(), hessian(solved, point(4)), 1e-12);
  const auto turned = []<class T>(std::span<const T> x) {
    const std::complex<T> z(x[0], x[1]);
    return T(std::abs(std::exp(z) * z) + x[2] * x[3]);
  };
  expect_near(sparse_hessian(turned, point(4)).dense(), hessian(turned, point(4)), 1e-12);
  EXPECT_EQ(sparse_hessian([](const auto& v) { return v[0] + 2 * v[2]; }, point(3)).pattern.entries(), 0u);
  EXPECT_EQ(sparse_hessian([](const auto&) { return 4.0; }, point(3)).pattern.entries(), 0u);
  EXPECT_EQ(sparse_hessian([](const auto&) { return 4.0; }, {}).pattern.rows, 0u);
}

TEST(SparseHessian, SetsAndBitsGiveThePattern) {
  std::minstd_rand random(3);
  for (const std::size_t inputs : {3, 255, 256, 257, 700}) {
    DependenceGraph graph;
    std::vector<DependenceGraph::Node> nodes = {DependenceGraph::nothing};
    for (std::size_t i = 0; i < inputs; ++i) nodes.push_back(graph.input());
    for (int k = 0; k < 3000; ++k)
      nodes.push_back(graph.unite(nodes[random() % nodes.size()], nodes[nodes.size() - 1 - random() % 3]));
    std::vector<DependenceGraph::Node> roots;
    for (int k = 0; k < 60; ++k) roots.push_back(nodes[random() % nodes.size()]);
    EXPECT_EQ(graph.pattern(roots), graph.pattern_by_bits(roots));
  }
}

}  // namespace
}  // namespace tidemark::scalars
