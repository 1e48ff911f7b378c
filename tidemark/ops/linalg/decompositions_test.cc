// What no law knows of the decompositions and determinants: that the factors are what they should be, and
// what hostile matrices do.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/linalg/determinant.h"
#include "tidemark/ops/linalg/eigh.h"
#include "tidemark/ops/linalg/qr.h"
#include "tidemark/ops/linalg/svd.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// One of a batch of matrices, in f64.
struct Matrix {
  Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), at_(static_cast<std::size_t>(m * n)) {}
  Matrix(const Literal& batch, std::int64_t index)
      : Matrix(batch.shape[batch.shape.rank() - 2], batch.shape.back()) {
    const auto all = values_of(batch);
    std::copy_n(all.begin() + index * rows * columns, rows * columns, at_.begin());
  }
  double& operator()(std::int64_t i, std::int64_t j) {
    return at_[static_cast<std::size_t>(i * columns + j)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return at_[static_cast<std::size_t>(i * columns + j)];
  }
  const std::vector<double>& values() const { return at_; }

  std::int64_t rows, columns;

 private:
  std::vector<double> at_;
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t l = 0; l < a.columns; ++l)
      for (std::int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, l) * b(l, j);
  return c;
}
Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) t(j, i) = a(i, j);
  return t;
}
Matrix diagonal(const std::vector<double>& values, std::int64_t first, std::int64_t n) {
  Matrix d(n, n);
  for (std::int64_t i = 0; i < n; ++i) d(i, i) = values[static_cast<std::size_t>(first + i)];
  return d;
}
double gap(const Matrix& a, const Matrix& b) { return distance(a.values(), b.values()); }
double skewness(const Matrix& columns) {  // how far columns are from orthonormal
  const std::vector<double> ones(static_cast<std::size_t>(columns.columns), 1);
  return gap(transposed(columns) * columns, diagonal(ones, 0, columns.columns));
}
double largest_in_column(const Matrix& a, std::int64_t j) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (std::abs(a(i, j)) > std::abs(largest)) largest = a(i, j);
  return largest;
}

double tolerance(DType dtype, std::int64_t size) {
  return (dtype == DType::f64 ? 1e-14 : 5e-6) * std::sqrt(static_cast<double>(size)) * 4;
}

constexpr std::int64_t batch = 3;
const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
    {1, 1}, {2, 2}, {3, 3}, {8, 8}, {33, 33}, {70, 70}, {5, 1}, {9, 4}, {100, 7}, {130, 40}};

TEST(Qr, ReconstructsWithOrthonormalColumnsAndAPositiveDiagonal) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [m, n] : sizes) {
      const Literal a = random_literal(dtype, {batch, m, n}, 7);
      const auto results = run(op::qr, {a}, {}, {1, 2, 3});
      for (std::int64_t k = 0; k < batch; ++k) {
        const Matrix q(results[0], k), r(results[1], k);
        EXPECT_LE(gap(q * r, Matrix(a, k)), tolerance(dtype, m)) << m << "x" << n;
        EXPECT_LE(skewness(q), tolerance(dtype, m)) << m << "x" << n;
        for (std::int64_t i = 0; i < n; ++i) {
          EXPECT_GE(r(i, i), 0);
          for (std::int64_t j = 0; j < i; ++j) EXPECT_EQ(r(i, j), 0);
        }
      }
    }
  }
}

TEST(Svd, ReconstructsWithDescendingValues) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [m, n] : sizes) {
      for (const bool wide : {false, true}) {
        const Literal a = random_literal(dtype, wide ? Shape{batch, n, m} : Shape{batch, m, n}, 7);
        const auto results = run(op::svd, {a}, {}, {1, 2, 3});
        const auto s = values_of(results[1]);
        for (std::int64_t k = 0; k < batch; ++k) {
          const Matrix u(results[0], k), vt(results[2], k);
          EXPECT_LE(gap(u * diagonal(s, k * n, n) * vt, Matrix(a, k)), tolerance(dtype, m)) << m << "x" << n;
          EXPECT_LE(skewness(u), tolerance(dtype, m)) << m << "x" << n;
          EXPECT_LE(skewness(transposed(vt)), tolerance(dtype, m)) << m << "x" << n;
          for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(k * n + i);
            EXPECT_GE(s[at], i + 1 < n ? s[at + 1] : 0);
            EXPECT_GT(largest_in_column(u, i), 0);
          }
        }
      }
    }
  }
}

TEST(Eigh, DecomposesTheSymmetricPartWithAscendingValues) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {1, 2, 3, 8, 33, 70}) {
      const Literal a = random_literal(dtype, {batch, n, n}, 7);
      const auto results = run(op::eigh, {a}, {}, {1, 2, 3});
      const auto w = values_of(results[0]);
      for (std::int64_t k = 0; k < batch; ++k) {
        const Matrix from(a, k), mirrored = transposed(from), v(results[1], k);
        Matrix want(n, n);
        for (std::int64_t i = 0; i < n * n; ++i)
          want(i / n, i % n) = (from(i / n, i % n) + mirrored(i / n, i % n)) / 2;
        EXPECT_LE(gap(v * diagonal(w, k * n, n) * transposed(v), want), tolerance(dtype, n)) << n;
        EXPECT_LE(skewness(v), tolerance(dtype, n)) << n;
        for (std::int64_t i = 0; i < n; ++i) {
          if (i > 0)
            EXPECT_LE(w[static_cast<std::size_t>(k * n + i - 1)], w[static_cast<std::size_t>(k * n + i)]);
          EXPECT_GT(largest_in_column(v, i), 0);
        }
      }
    }
  }
}

std::vector<double> in_f64(const Op& op, const Shape& shape, const std::vector<double>& values,
                           int result = 0) {
  return values_of(run(op, {literal_of(DType::f64, shape, values)})[static_cast<std::size_t>(result)]);
}

TEST(Svd, TakesMatricesOfAnyRankAndMagnitude) {
  expect_near(in_f64(op::svd, {2, 2}, {0, 0, 0, 0}, 1), {0, 0}, 0);
  expect_near(in_f64(op::svd, {2, 2}, {1, 2, 2, 4}, 1), {5, 0}, 1e-15);
  expect_near(in_f64(op::svd, {2, 2}, {3e200, 0, 0, 4e200}, 1), {4e200, 3e200}, 1e-15);
  expect_near(in_f64(op::svd, {2, 2}, {3e-310, 0, 0, 4e-310}, 1), {4e-310, 3e-310}, 0);
  expect_near(in_f64(op::svd, {1, 1}, {-7}, 2), {-1}, 0);  // U is positive
}

TEST(Eigh, TakesEqualValuesAndAnyMagnitude) {
  expect_near(in_f64(op::eigh, {3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2}), {2, 2, 2}, 0);
  expect_near(in_f64(op::eigh, {2, 2}, {0, 1e308, 1e308, 0}), {-1e308, 1e308}, 1e-15);
  expect_near(in_f64(op::eigh, {2, 2}, {0, 0, 0, 0}), {0, 0}, 0);
}

TEST(Det, KnownValues) {
  expect_near(in_f64(op::det, {2, 2}, {1, 2, 3, 4}), {-2}, 1e-15);
  expect_near(in_f64(op::det, {3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0}), {1}, 0);  // two exchanges
  expect_near(in_f64(op::det, {2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4}), {-1, 0}, 0);
  expect_near(in_f64(op::det, {2, 0, 0}, {}), {1, 1}, 0);
  EXPECT_FALSE(std::signbit(in_f64(op::det, {2, 2}, {1, 2, 2, 4})[0]));
  EXPECT_TRUE(std::isnan(in_f64(op::det, {2, 2}, {1, nan, 3, 4})[0]));
}

TEST(Det, OverflowsOnlyWhereTheResultDoes) {
  std::vector<double> values(16);
  const double diagonal[] = {1e200, 1e200, 1e-200, 1e-190};
  for (std::size_t i = 0; i < 4; ++i) values[i * 5] = diagonal[i];
  EXPECT_NEAR(in_f64(op::det, {4, 4}, values)[0] / 1e10, 1, 1e-14);
  values[0] = 1e300, values[10] = 1, values[15] = 1;
  EXPECT_EQ(in_f64(op::det, {4, 4}, values)[0], inf);
  EXPECT_EQ(in_f64(op::slogdet, {4, 4}, values, 0)[0], 1);
  EXPECT_NEAR(in_f64(op::slogdet, {4, 4}, values, 1)[0], 500 * std::log(10), 1e-10);
}

TEST(Slogdet, SaysZeroAndMinusInfinityForSingularMatrices) {
  const std::vector<double> values = {1, 2, 2, 4, 0, 1, 1, 0, 1, nan, 1, 1};
  expect_near(in_f64(op::slogdet, {3, 2, 2}, values, 0), {0, -1, nan}, 0);
  expect_near(in_f64(op::slogdet, {3, 2, 2}, values, 1), {-inf, 0, nan}, 0);
}

TEST(Cofactors, AreThoseOfSingularMatricesToo) {
  expect_near(in_f64(op::cofactors, {2, 2}, {1, 2, 3, 4}), {4, -3, -2, 1}, 1e-15);
  expect_near(in_f64(op::cofactors, {2, 2}, {1, 2, 2, 4}), {4, -2, -2, 1}, 1e-15);
  expect_near(in_f64(op::cofactors, {2, 2}, {0, 0, 0, 0}), {0, 0, 0, 0}, 1e-300);
  expect_near(in_f64(op::cofactors, {1, 1}, {0}), {1}, 0);
  expect_near(in_f64(op::cofactors, {2, 2}, {0, 0, 0, 1}), {1, 0, 0, 0}, 1e-15);  // a zero pivot comes first
  // Rank 2: cofactors of rank 1, v uᵀ with the null vectors (1, -2, 1) of both sides.
  expect_near(in_f64(op::cofactors, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {-3, 6, -3, 6, -12, 6, -3, 6, -3},
              1e-13);
  // Rank 1: none.
  expect_near(in_f64(op::cofactors, {3, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9}), std::vector<double>(9), 5e-14);
}

std::string numeric_error_of(const std::function<void(const Var&)>& f, double hostile) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"fit.cpp", 19});
  const Var a = builder.input({DType::f64, {3, 2, 2}});
  f(a);
  graph.add_output(graph.nodes().front().results[0]);
  std::vector<double> values = {1, 0, 0, 1, 1, 2, 2, 5, 3, 1, 1, 3};
  values[6] = values[10] = hostile;
  try {
    run(graph, {literal_of(DType::f64, {3, 2, 2}, values)});
  } catch (const Error& error) {
    return error.code() == ErrorCode::numeric ? error.what() : "another error";
  }
  return "";
}

TEST(Decompositions, SayWhichMatrixHoldsNaNOrInfinity) {
  for (const double hostile : {nan, inf, -inf}) {
    for (const std::string& error : {numeric_error_of([](const Var& a) { svd(a); }, hostile),
                                     numeric_error_of([](const Var& a) { eigh(a); }, hostile)}) {
      EXPECT_NE(error.find("matrix 1 holds NaN or infinity"), std::string::npos) << error;
      EXPECT_NE(error.find("fit.cpp:19"), std::string::npos) << error;
    }
    EXPECT_EQ(numeric_error_of([](const Var& a) { qr(a); }, hostile), "") << "NaN goes through";
  }
}

TEST(Decompositions, RefuseWhatIsNoMatrix) {
  Graph graph;
  Builder builder(graph);
  const Var vector = builder.input({DType::f64, {3}}), wide = builder.input({DType::f64, {2, 3}});
  const Var half = builder.input({DType::bf16, {3, 3}}), whole = builder.input({DType::i32, {3, 3}});
  const Var huge = builder.input({DType::f32, {1 << 15, 1 << 15}});
  for (const Var& x : {vector, half, whole, huge}) {
    EXPECT_THROW(qr(x), Error);
    EXPECT_THROW(svd(x), Error);
    EXPECT_THROW(eigh(x), Error);
    EXPECT_THROW(det(x), Error);
    EXPECT_THROW(slogdet(x), Error);
    EXPECT_THROW(cofactors(x), Error);
  }
  EXPECT_THROW(eigh(wide), Error);
  EXPECT_THROW(det(wide), Error);
  EXPECT_THROW(qr(wide), Error) << "the op itself; the function of trace/ takes it";
}

}  // namespace
}  // namespace tidemark
