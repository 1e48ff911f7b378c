#include "tidemark/ops/linalg/solve.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/linalg/cholesky.h"
#include "tidemark/ops/linalg/triangular_solve.h"
#include "tidemark/ops/registry.h"

extern "C" {
int openblas_get_num_threads(void);
void openblas_set_num_threads(int);
}

namespace tidemark {
namespace {

using namespace testing;

// Random matrices (batch, n, n) with `shift` added to their diagonals.
Literal matrices(DType dtype, std::int64_t batch, std::int64_t n, double shift, std::uint64_t seed) {
  auto values = values_of(random_literal(DType::f64, {batch, n, n}, seed));
  for (std::int64_t i = 0; i < batch * n; ++i)
    values[static_cast<std::size_t>(i / n * n * n + i % n * (n + 1))] += shift;
  return literal_of(dtype, {batch, n, n}, values);
}

// (batch, m, k) × (batch, k, n)
std::vector<double> product(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n,
                            const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> c(static_cast<std::size_t>(batch * m * n));
  for (std::int64_t q = 0; q < batch; ++q)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t l = 0; l < k; ++l)
          c[static_cast<std::size_t>((q * m + i) * n + j)] +=
              a[static_cast<std::size_t>((q * m + i) * k + l)] *
              b[static_cast<std::size_t>((q * k + l) * n + j)];
  return c;
}

std::vector<double> transposed(std::int64_t batch, std::int64_t n, const std::vector<double>& a) {
  std::vector<double> t(a.size());
  for (std::int64_t q = 0; q < batch; ++q)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        t[static_cast<std::size_t>((q * n + j) * n + i)] = a[static_cast<std::size_t>((q * n + i) * n + j)];
  return t;
}

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-10 : 1e-3; }

TEST(Cholesky, TimesItsTransposeIsTheSymmetricPart) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {1, 2, 5, 40, 130}) {
      const Literal a = matrices(dtype, 3, n, 2.0 * static_cast<double>(n), 1);
      const auto l = values_of(run(op::cholesky, {a})[0]);
      auto want = values_of(a);
      const auto mirrored = transposed(3, n, want);
      for (std::size_t i = 0; i < want.size(); ++i) want[i] = (want[i] + mirrored[i]) / 2;
      EXPECT_LE(distance(product(3, n, n, n, l, transposed(3, n, l)), want), tolerance(dtype));
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = i + 1; j < n; ++j) EXPECT_EQ(l[static_cast<std::size_t>(i * n + j)], 0);
      }
    }
  }
}

TEST(TriangularSolve, SolvesFromEitherSideAndReadsOneTriangleOnly) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {1, 3, 50}) {
      for (int form = 0; form < 16; ++form) {
        const TriangularSolveAttrs attrs{(form & 1) != 0, (form & 2) != 0, (form & 4) != 0, (form & 8) != 0};
        const std::int64_t sides = 150;
        // Small off the diagonal: the inverse of a unit triangle grows fast otherwise.
        auto values = values_of(matrices(DType::f64, 2, n, 4, 1));
        for (double& x : values) x = x > 2 ? x : x / static_cast<double>(n);
        const Literal a = literal_of(dtype, {2, n, n}, values);
        const Literal b = random_literal(dtype, attrs.left ? Shape{2, n, sides} : Shape{2, sides, n}, 2);
        const auto x = values_of(run(op::triangular_solve, {a, b}, pack(attrs))[0]);
        auto triangle = values_of(a);
        for (std::int64_t i = 0; i < 2 * n * n; ++i) {
          const std::int64_t row = i / n % n, col = i % n;
          double& at = triangle[static_cast<std::size_t>(i)];
          if (attrs.lower ? col > row : col < row) at = 0;
          if (row == col && attrs.unit) at = 1;
        }
        if (attrs.transpose) triangle = transposed(2, n, triangle);
        const auto back =
            attrs.left ? product(2, n, n, sides, triangle, x) : product(2, sides, n, n, x, triangle);
        EXPECT_LE(distance(back, values_of(b)), tolerance(dtype)) << form;
      }
    }
  }
}

TEST(Solve, InvertsGeneralMatricesAndTheirTransposes) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {1, 2, 7, 60}) {
      for (const bool transpose : {false, true}) {
        const Literal a = matrices(dtype, 11, n, 0.1, 5),
                      b = random_literal(dtype, {11, n, 3}, 6);  // rows do move
        const auto x = values_of(run(op::solve, {a, b}, pack(SolveAttrs{transpose}))[0]);
        const auto matrix = transpose ? transposed(11, n, values_of(a)) : values_of(a);
        EXPECT_LE(distance(product(11, n, n, 3, matrix, x), values_of(b)), dtype == DType::f64 ? 1e-9 : 0.05);
      }
    }
  }
}

TEST(Solve, TakesOneVectorAndBroadcastsLeadingDimensions) {
  Graph graph;
  Builder builder(graph);
  const Var a = builder.input({DType::f64, {3, 3}}), batch = builder.input({DType::f64, {4, 3, 3}});
  EXPECT_EQ(solve(a, builder.input({DType::f64, {3}})).shape(), (Shape{3}));
  EXPECT_EQ(solve(a, builder.input({DType::f64, {4, 3, 2}})).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(solve(batch, builder.input({DType::f64, {3, 2}})).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(solve(batch, builder.input({DType::f64, {3}})).shape(), (Shape{4, 3}));
}

std::string numeric_error(const std::function<Var(const Var&, const Var&)>& f,
                          const std::vector<double>& matrix) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"fit.cpp", 19});
  const Var a = builder.input({DType::f64, {2, 2, 2}}), b = builder.input({DType::f64, {2, 2, 1}});
  graph.add_output(f(a, b).id());
  try {
    run(graph, {literal_of(DType::f64, {2, 2, 2}, matrix), random_literal(DType::f64, {2, 2, 1}, 1)});
  } catch (const Error& error) {
    return error.code() == ErrorCode::numeric ? error.what() : "another error";
  }
  return "";
}

TEST(Solve, SaysWhichMatrixFailedAndWhere) {
  const std::string definite =
      numeric_error([](const Var& a, const Var&) { return cholesky(a); }, {1, 0, 0, 1, 1, 2, 2, 1});
  EXPECT_NE(definite.find("matrix 1 is not positive definite: its leading minor of order 2"),
            std::string::npos)
      << definite;
  EXPECT_NE(definite.find("fit.cpp:19"), std::string::npos) << definite;
  const std::string singular =
      numeric_error([](const Var& a, const Var& b) { return solve(a, b); }, {1, 2, 2, 4, 1, 0, 0, 1});
  EXPECT_NE(singular.find("matrix 0 is singular"), std::string::npos) << singular;
  const std::string zero = numeric_error(
      [](const Var& a, const Var& b) { return triangular_solve(a, b, {}); }, {1, 2, 2, 4, 1, 0, 5, 0});
  EXPECT_NE(zero.find("matrix 1 is singular: element 1"), std::string::npos) << zero;
}

TEST(Solve, RefusesShapesThatAreNoSystem) {
  Graph graph;
  Builder builder(graph);
  const Var wide = builder.input({DType::f64, {2, 3}}), square = builder.input({DType::f64, {3, 3}});
  EXPECT_THROW(cholesky(wide), Error);
  EXPECT_THROW(solve(wide, square), Error);
  EXPECT_THROW(solve(square, wide), Error);
  EXPECT_THROW(triangular_solve(square, wide, {.left = true}), Error);
  EXPECT_EQ(triangular_solve(square, wide, {.left = false}).shape(), (Shape{2, 3}));
  EXPECT_THROW(cholesky(builder.input({DType::bf16, {3, 3}})), Error);
}

TEST(Solve, LeavesTheProgramsOwnThreadsOfOpenBlasAlone) {
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  const int wanted = openblas_get_num_threads();  // 1 where the library has no threads
  const Literal a = matrices(DType::f64, 3, 40, 80, 1), b = random_literal(DType::f64, {3, 40, 5}, 2);
  run(op::cholesky, {a});
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  run(op::solve, {a, b}, pack(SolveAttrs{}));
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  run(op::triangular_solve, {a, b}, pack(TriangularSolveAttrs{}));
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  for (const Op* op : {&op::qr, &op::svd, &op::eigh, &op::det, &op::cofactors, &op::slogdet}) {
    run(*op, {a});
    EXPECT_EQ(openblas_get_num_threads(), wanted) << op->name;
  }
  EXPECT_ANY_THROW(run(op::cholesky, {random_literal(DType::f64, {3, 40, 40}, 3)}));
  EXPECT_EQ(openblas_get_num_threads(), wanted) << "after an error, too";
  openblas_set_num_threads(before);
}

}  // namespace
}  // namespace tidemark
