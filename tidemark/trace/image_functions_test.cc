#include "tidemark/trace/image_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using testing::expect_gradient;

Tensor picture(const Shape& shape) {
  return reshape(sin(arange(element_count(shape), DType::f64) * 1.1 + 0.7) * 2, shape);
}

TEST(ImageFunctions, InterpolatesByTheNearestPixel) {
  const Tensor x = reshape(arange(4) + 1, {1, 1, 2, 2});
  const Tensor y = interpolate(cast(x, DType::f64), {3, 4});
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4));
  const Tensor line = reshape(arange(5, DType::f64), {1, 1, 5});
  EXPECT_THAT(interpolate(line, {3}).to_vector(), ElementsAre(0, 1, 3));
}

TEST(ImageFunctions, InterpolatesLinearlyBetweenCentres) {
  const Tensor line = reshape(tensor<double>({0, 4}), {1, 1, 2});
  EXPECT_THAT(interpolate(line, {4}, Interpolation::linear).to_vector(), ElementsAre(0, 1, 3, 4));
  const Tensor x = picture({2, 1, 3, 5});
  const Tensor y = interpolate(x, {7, 4}, Interpolation::linear);
  EXPECT_EQ(y.shape(), (Shape{2, 1, 7, 4}));
  const auto at = [&](std::int64_t n, double row, double column) {  // by the definition
    row = std::clamp(row, 0.0, 2.0), column = std::clamp(column, 0.0, 4.0);
    const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(column);
    const std::int64_t r1 = std::min<std::int64_t>(r + 1, 2), c1 = std::min<std::int64_t>(c + 1, 4);
    const double a = row - static_cast<double>(r), b = column - static_cast<double>(c);
    const auto value = [&](std::int64_t i, std::int64_t j) { return x.at(n, 0, i, j).item(); };
    return (1 - a) * ((1 - b) * value(r, c) + b * value(r, c1)) +
           a * ((1 - b) * value(r1, c) + b * value(r1, c1));
  };
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t i = 0; i < 7; ++i) {
      for (std::int64_t j = 0; j < 4; ++j) {
        const double row = (static_cast<double>(i) + 0.5) * 3 / 7 - 0.5;
        const double column = (static_cast<double>(j) + 0.5) * 5 / 4 - 0.5;
        EXPECT_NEAR(y.at(n, 0, i, j).item(), at(n, row, column), 1e-14);
      }
    }
  }
  expect_gradient(
      [](Tensor u) {
        return interpolate(u, {5, 2}, Interpolation::linear);
      },
      picture({1, 2, 3, 3}));
  expect_gradient([](Tensor u) { return interpolate(u, {2, 5}); }, picture({1, 1, 3, 3}));
}

TEST(ImageFunctions, PoolsToAnySize) {
  const Tensor line = reshape(arange(5, DType::f64), {1, 1, 5});
  EXPECT_THAT(adaptive_avg_pool(line, {3}).to_vector(), ElementsAre(0.5, 2, 3.5));  // [0,2) [1,4) [3,5)
  EXPECT_THAT(adaptive_max_pool(line, {3}).to_vector(), ElementsAre(1, 3, 4));
  EXPECT_THAT(adaptive_avg_pool(line, {1}).to_vector(), ElementsAre(2));
  EXPECT_THAT(adaptive_max_pool(line, {7}).to_vector(), ElementsAre(0, 1, 2, 2, 3, 4, 4));
  const Tensor x = picture({2, 3, 4, 6});
  EXPECT_LT(norm(adaptive_avg_pool(x, {2, 3}) - avg_pool(x, {.window = {2, 2}})).item(), 1e-14);
  EXPECT_EQ(adaptive_max_pool(x, {2, 3}).to_vector(), max_pool(x, {.window = {2, 2}}).to_vector());
  EXPECT_NEAR(adaptive_avg_pool(x, {1, 1}).at(1, 2, 0, 0).item(), mean(x, {2, 3}).at(1, 2).item(), 1e-15);
  expect_gradient([](Tensor u) { return adaptive_avg_pool(u, {2, 3}); }, picture({1, 1, 3, 4}));
  expect_gradient([](Tensor u) { return adaptive_max_pool(u, {2, 3}); }, picture({1, 1, 3, 4}));
}

TEST(ImageFunctions, SizesMustFit) {
  const Tensor x = picture({1, 1, 2, 2});
  EXPECT_EQ(code_of([&] { interpolate(x, {3}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { interpolate(x, {3, 0}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { adaptive_avg_pool(zeros({1, 1, 0}), {2}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { adaptive_max_pool(cast(x, DType::i32), {1, 1}); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(interpolate(zeros({0, 1, 2}), {4}).shape(), (Shape{0, 1, 4}));
}

TEST(ImageFunctions, UnfoldsWindows) {
  const Tensor x = reshape(arange(9), {1, 1, 3, 3});
  const Tensor columns = unfold(x, {.window = {2, 2}});
  EXPECT_EQ(columns.shape(), (Shape{1, 4, 4}));
  EXPECT_THAT(columns.to_vector(), ElementsAre(0, 1, 3, 4, 1, 2, 4, 5, 3, 4, 6, 7, 4, 5, 7, 8));
  const Windows wide{.window = {3, 2}, .stride = {2, 1}, .padding = {1, 0}};
  EXPECT_EQ(unfold(x, wide).shape(), (Shape{1, 6, 4}));
  EXPECT_THAT(unfold(x, wide).at(0, 0).to_vector(), ElementsAre(0, 0, 3, 4));
}

TEST(ImageFunctions, ConvolutionIsAProductWithWindows) {
  const Tensor x = picture({2, 3, 5, 4}), w = picture({2, 3, 3, 2});
  const Tensor product = matmul(reshape(w, {2, 18}), unfold(x, {.window = {3, 2}, .stride = {2, 1}}));
  const std::vector<double> expected = conv(x, w, {.stride = {2, 1}}).to_vector();
  const std::vector<double> found = product.to_vector();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-13);
}

TEST(ImageFunctions, FoldIsTheAdjointOfUnfold) {
  const Windows windows{.window = {3, 2}, .stride = {2, 1}, .padding = {1, 1}};
  const Tensor x = picture({2, 3, 5, 4});
  const Tensor columns = unfold(x, windows), y = picture(columns.shape());
  const Tensor back = fold(y, {5, 4}, windows);
  EXPECT_EQ(back.shape(), x.shape());
  EXPECT_NEAR(sum(columns * y).item(), sum(x * back).item(), 1e-12);
  const auto f = [&](Tensor u) { return sum(unfold(u, windows) * y); };
  const std::vector<double> gradient = grad(f)(x).to_vector(), folded = back.to_vector();
  for (std::size_t i = 0; i < folded.size(); ++i) EXPECT_NEAR(gradient[i], folded[i], 1e-13);
}

TEST(ImageFunctions, WindowsMustFit) {
  const Tensor x = picture({1, 1, 3, 3});
  EXPECT_EQ(code_of([&] { unfold(x, {.window = {4, 1}}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { unfold(x, {.window = {2, 2}, .stride = {0, 1}}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { unfold(x, {.window = {2}}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { unfold(x.at(0), {.window = {1, 1}}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] {
              fold(picture({1, 4, 3}), {3, 3}, {.window = {2, 2}});
            }),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
