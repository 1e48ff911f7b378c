// What comes back of matrices, judged by what is known of low-rank approximations, on data that is meant to
// break it.
#include "tidemark/ops/codec/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

std::vector<double> back(const Literal& x, std::int64_t rank) {
  const Literal factors = run(op::to_low_rank, {x}, pack(ToLowRankAttrs{rank}), {1, 2, 3})[0];
  EXPECT_EQ(factors.shape, (Shape{low_rank_count(rank, x.shape)}));
  return values_of(run(op::from_low_rank, {factors}, pack(FromLowRankAttrs{rank, x.shape}), {1, 2, 3})[0]);
}

double uniform(std::mt19937_64& random) { return std::ldexp(static_cast<double>(random() >> 11), -52) - 1; }

// A product of thin matrices with the given weights, one to a direction.
std::vector<double> product(std::int64_t rows, std::int64_t cols, const std::vector<double>& weights,
                            std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<double> x(static_cast<std::size_t>(rows * cols), 0);
  for (const double weight : weights) {
    std::vector<double> left, right;
    for (std::int64_t i = 0; i < rows; ++i) left.push_back(uniform(random));
    for (std::int64_t j = 0; j < cols; ++j) right.push_back(uniform(random));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += weight * left[i / static_cast<std::size_t>(cols)] * right[i % static_cast<std::size_t>(cols)];
  }
  return x;
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return norm(difference);
}
double tolerance(DType dtype) {
  return dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 2e-3 : 1.5e-2;
}

TEST(LowRank, MatricesOfThatRankComeBack) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const auto& [rows, cols] : {std::pair{300, 40}, {40, 300}, {17, 17}, {20000, 8}, {5, 1}, {1, 9}}) {
      for (const std::vector<double>& weights : {std::vector<double>{1}, {3, 2, 1}, {1e3, 1, 1e-1, 1}}) {
        SCOPED_TRACE(fmt::format("{} × {} of {}, rank {}", rows, cols, name_of(dtype), weights.size()));
        const Literal x = literal_of(dtype, {rows, cols}, product(rows, cols, weights));
        const std::vector<double> right = values_of(x);
        ASSERT_LE(distance(back(x, 4), right), tolerance(dtype) * norm(right));
      }
    }
  }
}

TEST(LowRank, IsNearlyAsCloseAsAnyOfThatRank) {
  // Directions are nearly orthogonal, so that their weights are nearly singular values.
  const std::vector<double> weights = {100, 90, 80, 70, 1, 0.9, 0.8, 0.7, 0.6, 0.5};
  const std::vector<double> x = product(400, 300, weights);
  const std::vector<double> rest = product(400, 300, {0, 0, 0, 0, 1, 0.9, 0.8, 0.7, 0.6, 0.5});
  const std::vector<double> given = back(literal_of(DType::f64, {400, 300}, x), 4);
  EXPECT_LE(distance(given, x), 1.1 * norm(rest));
  EXPECT_GT(distance(given, x), 0.5 * norm(rest));
}

TEST(LowRank, WhatIsNoFurtherThanItselfStaysWithinItself) {
  // A projection takes nothing but away, of any matrix.
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Literal x = random_literal(DType::f32, {90, 70}, seed);
    EXPECT_LE(distance(back(x, 5), values_of(x)), norm(values_of(x)));
    EXPECT_LE(distance(back(x, 70), values_of(x)), 1e-5 * norm(values_of(x))) << "of full rank";
  }
}

TEST(LowRank, ZerosComeBackAsZeros) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const std::vector<double> given = back(literal_of(dtype, {30, 20}, std::vector<double>(600, 0)), 4);
    EXPECT_EQ(given, std::vector<double>(600, 0)) << name_of(dtype);
  }
  EXPECT_TRUE(back(literal_of(DType::f32, {0, 20}, {}), 4).empty());
  EXPECT_TRUE(back(literal_of(DType::f32, {20, 0}, {}), 4).empty());
}

TEST(LowRank, MagnitudesDoNotMatter) {
  for (const auto& [dtype, size] : {std::pair{DType::f32, 1e37},
                                    {DType::f32, 1e-30},
                                    {DType::f32, 3e-38},
                                    {DType::f64, 1e300},
                                    {DType::f64, 1e-300},
                                    {DType::bf16, 1e37},
                                    {DType::f16, 1e4}}) {
    SCOPED_TRACE(fmt::format("{} in {}", size, name_of(dtype)));
    const Literal x = literal_of(dtype, {200, 30}, product(200, 30, {size}));
    const std::vector<double> right = values_of(x), given = back(x, 3);
    std::vector<double> a, b;
    for (std::size_t i = 0; i < right.size(); ++i) a.push_back(right[i] / size), b.push_back(given[i] / size);
    EXPECT_LE(distance(a, b), (size == 3e-38 ? 10 : 1) * tolerance(dtype) * norm(a));
  }
}

TEST(LowRank, ARowThatIsNotFiniteIsNaNAndTouchesNoOther) {
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    std::vector<double> values = product(100, 20, {1, 2});
    values[7 * 20 + 3] = values[60 * 20] = bad;
    const std::vector<double> given = back(literal_of(DType::f32, {100, 20}, values), 3);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (i / 20 == 7 || i / 20 == 60) {
        EXPECT_TRUE(std::isnan(given[i])) << i;
      } else {
        EXPECT_NEAR(given[i], values[i], 1e-4) << i;
      }
    }
  }
  for (const double v : back(literal_of(DType::f32, {4, 5}, std::vector<double>(20, NAN)), 2))
    EXPECT_TRUE(std::isnan(v));
}

TEST(LowRank, SeesTheLastAxisAsColumns) {
  const std::vector<double> x = product(60, 20, {1, 1});
  const std::vector<double> flat = back(literal_of(DType::f32, {60, 20}, x), 2);
  EXPECT_EQ(back(literal_of(DType::f32, {3, 4, 5, 20}, x), 2), flat);
}

TEST(LowRank, RefusesWhatIsNoMatrix) {
  Graph graph;
  Builder builder(graph);
  const Var scalar = builder.input({DType::f32, {}}, "x"), matrix = builder.input({DType::f32, {4, 4}}, "y");
  EXPECT_EQ(code_of([&] { (void)to_low_rank(scalar, 2); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)to_low_rank(matrix, 0); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)from_low_rank(to_low_rank(matrix, 2), 1, matrix.type()); }),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
