#include "tidemark/trace/cumulative.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using testing::expect_gradient;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor ripples(const Shape& shape) {
  return reshape(sin(arange(element_count(shape), DType::f64) * 1.9 + 0.4) * 2, shape);
}

TEST(Cumulative, CombinesAllElementsUpToEach) {
  const Tensor all_of_it = ripples({33});
  for (std::int64_t n = 0; n <= 33; ++n) {
    const Tensor x = slice(all_of_it, {0}, {n});
    const std::vector<double> v = x.to_vector(), product = cumprod(x, 0).to_vector(),
                              largest = cummax(x, 0).to_vector(), least = cummin(x, 0).to_vector(),
                              logs = logcumsumexp(x, -1).to_vector();
    double p = 1, high = -infinity, low = infinity, total = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      p *= v[i], high = std::max(high, v[i]), low = std::min(low, v[i]), total += std::exp(v[i]);
      EXPECT_NEAR(product[i], p, 1e-14 * std::abs(p)) << n << " " << i;
      EXPECT_EQ(largest[i], high);
      EXPECT_EQ(least[i], low);
      EXPECT_NEAR(logs[i], std::log(total), 1e-14);
    }
  }
}

TEST(Cumulative, RunsAlongAnyAxis) {
  const Tensor x = reshape(arange(12) % 5 + 1, {2, 3, 2});
  EXPECT_THAT(cumprod(x, 1).to_vector(), ElementsAre(1, 2, 3, 8, 15, 8, 2, 3, 8, 15, 8, 30));
  EXPECT_THAT(cummax(x, -1).to_vector(), ElementsAre(1, 2, 3, 4, 5, 5, 2, 3, 4, 5, 1, 2));
  EXPECT_EQ(cumprod(zeros({2, 0}), 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(code_of([&] { cumprod(x, 3); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { cummax(scalar(1), 0); }), ErrorCode::index_out_of_range);
}

TEST(Cumulative, HoldsAtExtremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> running = cummax(tensor<double>({1, nan, 3}), 0).to_vector();
  EXPECT_EQ(running[0], 1);
  EXPECT_TRUE(std::isnan(running[1]) && std::isnan(running[2]));
  const Tensor large = tensor<double>({-infinity, 1000, 1000, -1000});
  const std::vector<double> logs = logcumsumexp(large, 0).to_vector();
  EXPECT_EQ(logs[0], -infinity);
  EXPECT_EQ(logs[1], 1000);
  EXPECT_DOUBLE_EQ(logs[2], 1000 + std::log(2));
  EXPECT_DOUBLE_EQ(logs[3], 1000 + std::log(2));
  const auto f = [](Tensor x) { return sum(logcumsumexp(x, 0)); };
  for (double g : grad(f)(large).to_vector()) EXPECT_TRUE(std::isfinite(g));
}

TEST(Cumulative, SaysWhereTheExtremesStand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto [high, high_at] = cummax_with_indices(tensor<double>({1, 3, 3, 2, 5, 4}), 0);
  EXPECT_THAT(high.to_vector(), ElementsAre(1, 3, 3, 3, 5, 5));
  EXPECT_THAT(high_at.to_vector(), ElementsAre(0, 1, 2, 2, 4, 4));
  EXPECT_EQ(high_at.dtype(), DType::i64);
  const Tensor x = reshape(tensor<std::int32_t>({4, 1, 2, 1, 5, 0}), {3, 2});
  const auto [low, low_at] = cummin_with_indices(x, 0);
  EXPECT_THAT(low.to_vector(), ElementsAre(4, 1, 2, 1, 2, 0));
  EXPECT_THAT(low_at.to_vector(), ElementsAre(0, 0, 1, 1, 1, 2));
  EXPECT_THAT(cummax_with_indices(tensor<double>({2, nan, 9, nan, 1}), 0).second.to_vector(),
              ElementsAre(0, 1, 1, 3, 3));
  EXPECT_THAT(cummin_with_indices(tensor<double>({-infinity, infinity, -infinity}), 0).second.to_vector(),
              ElementsAre(0, 0, 2));
  EXPECT_EQ(cummax_with_indices(zeros({2, 0}), 1).second.shape(), (Shape{2, 0}));
  EXPECT_THAT(
      grad([](Tensor u) { return sum(cummax_with_indices(u, 0).first); })(tensor<double>({1, 3, 3, 2}))
          .to_vector(),
      ElementsAre(1, 1, 2, 0));
  expect_gradient([](Tensor u) { return cummin_with_indices(u, 1).first; }, ripples({2, 6}));
  EXPECT_EQ(code_of([&] { cummax_with_indices(x, 2); }), ErrorCode::index_out_of_range);
}

TEST(Cumulative, HasGradientsAlsoAtZeros) {
  expect_gradient([](Tensor x) { return cumprod(x, 1); }, ripples({2, 5}));
  expect_gradient([](Tensor x) { return cumprod(x, 0); }, tensor<double>({2, 0, 3, 0, 5}));
  expect_gradient([](Tensor x) { return cummax(x, 0); }, ripples({6, 2}));
  expect_gradient([](Tensor x) { return cummin(x, 0); }, ripples({7}));
  expect_gradient([](Tensor x) { return logcumsumexp(x, 0); }, ripples({7}));
  expect_gradient([](Tensor x) { return logcumsumexp(x, 0); }, ones({3}, DType::f64));
  const auto slope = grad([](Tensor x) { return sum(cumprod(x, 0)); });
  expect_gradient([&](Tensor x) { return slope(x); }, tensor<double>({2, 0, 3, 1}));
}

}  // namespace
}  // namespace tidemark
