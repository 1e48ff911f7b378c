#include "tidemark/trace/statistics.h"

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
using ::testing::HasSubstr;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor numbers_of(const Shape& shape) {  // no two are equal, some are negative
  return reshape(sin(arange(element_count(shape), DType::f64) * 1.7 + 0.3) * 2, shape);
}

TEST(Statistics, VarianceWithACorrection) {
  const Tensor x = tensor<double>({1, 2, 4, 9});
  EXPECT_DOUBLE_EQ(var(x, {0}, false, 1).item(), 38.0 / 3);
  EXPECT_DOUBLE_EQ(var(x, {-1}, false, 0).item(), 38.0 / 4);
  EXPECT_DOUBLE_EQ(stddev(x).item(), std::sqrt(38.0 / 4));
  EXPECT_DOUBLE_EQ(stddev(x, {0}, false, 1).item(), std::sqrt(38.0 / 3));
  EXPECT_EQ(stddev(reshape(x, {2, 2}), {-1}, true, 1).shape(), (Shape{2, 1}));
  EXPECT_EQ(stddev(reshape(x, {4, 1}), {1}).shape(), (Shape{4}));
  EXPECT_TRUE(std::isnan(var(tensor<double>({3}), {0}, false, 1).item()));
  EXPECT_TRUE(std::isnan(stddev(tensor<double>({1, nan})).item()));
}

TEST(Statistics, DeviationsHaveGradientsAlsoWhereAllElementsAreEqual) {
  expect_gradient([](Tensor x) { return stddev(x, {1}, false, 1); }, numbers_of({2, 4}));
  const auto f = [](Tensor x) { return stddev(x); };
  EXPECT_THAT(grad(f)(tensor<double>({3, 3})).to_vector(), ElementsAre(0, 0));
}

TEST(Statistics, NormsOfEveryOrder) {
  const Tensor x = tensor<double>({3, -4, 0});
  EXPECT_DOUBLE_EQ(norm(x).item(), 5);
  EXPECT_DOUBLE_EQ(norm(x, 1).item(), 7);
  EXPECT_DOUBLE_EQ(norm(x, inf).item(), 4);
  EXPECT_NEAR(norm(x, 3).item(), std::cbrt(91.0), 1e-14);
  EXPECT_NEAR(norm(x, 0.5).item(), std::pow(std::sqrt(3) + 2, 2), 1e-13);
  EXPECT_DOUBLE_EQ(norm(scalar(-2, DType::f64)).item(), 2);
  const Tensor y = numbers_of({2, 3, 2});
  EXPECT_EQ(norm(y, 2, {0, -1}).shape(), (Shape{3}));
  EXPECT_EQ(norm(y, 2, {0, -1}, true).shape(), (Shape{1, 3, 1}));
  EXPECT_DOUBLE_EQ(norm(y, 2, {0, -1}).at(1).item(), std::sqrt(sum(square(y), {0, 2}).at(1).item()));
}

TEST(Statistics, NormsOfExtremesAndOfNothing) {
  for (double p : {1.0, 2.0, 3.0, inf}) {
    EXPECT_EQ(norm(tensor<double>({1, -inf}), p).item(), inf) << p;
    EXPECT_TRUE(std::isnan(norm(tensor<double>({1, nan, inf}), p).item())) << p;
    EXPECT_EQ(norm(zeros({0}, DType::f64), p).item(), 0) << p;
    EXPECT_EQ(norm(zeros({2, 0}, DType::f64), p, {1}).shape(), (Shape{2})) << p;
    EXPECT_EQ(norm(zeros({3}, DType::f64), p).item(), 0) << p;
  }
  EXPECT_DOUBLE_EQ(norm(tensor<double>({3e200, 4e200})).item(), 5e200);
  EXPECT_DOUBLE_EQ(norm(tensor<double>({3e-200, 4e-200})).item(), 5e-200);
  EXPECT_FLOAT_EQ(static_cast<float>(norm(tensor<float>({3e30f, 4e30f}), 2).item()), 5e30f);
}

TEST(Statistics, NormsHaveGradientsAndNoneAtZero) {
  for (double p : {1.0, 2.0, 2.5, 0.7, inf}) {
    expect_gradient([&](Tensor x) { return norm(x, p, {1}); }, numbers_of({2, 3}));
    const auto f = [&](Tensor x) { return norm(x, p); };
    EXPECT_THAT(grad(f)(zeros({2}, DType::f64)).to_vector(), ElementsAre(0, 0)) << p;
    EXPECT_EQ(grad(f)(tensor<double>({0, 2})).to_vector()[0], 0) << p;
  }
}

TEST(Statistics, NormsRefuseOrdersThatAreNone) {
  const Tensor x = zeros({2}, DType::f64);
  for (double p : {0.0, -1.0, nan}) EXPECT_EQ(code_of([&] { norm(x, p); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { norm(x, 2, {1}); }), ErrorCode::index_out_of_range);
}

TEST(Statistics, QuantilesLieBetweenSortedValues) {
  const Tensor x = tensor<double>({7, 1, 3, 5});
  EXPECT_DOUBLE_EQ(median(x).item(), 4);
  EXPECT_DOUBLE_EQ(quantile(x, 0).item(), 1);
  EXPECT_DOUBLE_EQ(quantile(x, 1).item(), 7);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25).item(), 2.5);
  EXPECT_DOUBLE_EQ(median(scalar(3, DType::f64)).item(), 3);
  const Tensor y = reshape(tensor<double>({3, 1, 2, 9, 7, 8}), {2, 3});
  EXPECT_THAT(median(y, -1).to_vector(), ElementsAre(2, 8));
  EXPECT_EQ(median(y, 0, true).shape(), (Shape{1, 3}));
  EXPECT_THAT(quantile(y, 0.5, 0).to_vector(), ElementsAre(6, 4, 5));
}

TEST(Statistics, QuantilesOfExtremes) {
  EXPECT_TRUE(std::isnan(median(tensor<double>({1, nan, 3})).item()));
  EXPECT_EQ(median(tensor<double>({inf, inf})).item(), inf);
  EXPECT_EQ(median(tensor<double>({-inf, 1})).item(), -inf);
  EXPECT_EQ(median(tensor<double>({1e308, 1.5e308})).item(), 1.25e308);
  expect_gradient([](Tensor x) { return quantile(x, 0.3, 1); }, numbers_of({2, 5}));
  // Equal ends have the value itself and share the gradient.
  EXPECT_EQ(quantile(tensor<double>({0.1, 0.1}), 0.3).item(), 0.1);
  EXPECT_EQ(quantile(tensor<float>({0.1F, 0.1F}), 0.7).item(), 0.1F);
  EXPECT_THAT(grad([](Tensor x) { return median(x); })(tensor<double>({2, 2})).to_vector(),
              ElementsAre(0.5, 0.5));
  EXPECT_THAT(grad([](Tensor x) { return median(x); })(tensor<double>({0, 0})).to_vector(),
              ElementsAre(0.5, 0.5));
}

TEST(Statistics, QuantilesSayWhatIsWrong) {
  const Tensor x = zeros({2}, DType::f64);
  EXPECT_EQ(code_of([&] { quantile(x, 50); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { quantile(x, nan); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { median(zeros({0}, DType::f64)); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { median(arange(3)); }), ErrorCode::dtype_mismatch);
  try {
    quantile(x, 50);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("statistics_test.cc"));
    EXPECT_THAT(error.what(), HasSubstr("percent"));
  }
}

TEST(Statistics, PlacesAmongAllElements) {
  const Tensor x = tensor(std::vector<float>{3, 9, -4, 9, 0, -4}, {2, 3});
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 2);
  EXPECT_EQ(argmax(scalar(5)).item<std::int64_t>(), 0);
}

TEST(Statistics, AnyAndAllOfTruthsAndNumbers) {
  const Tensor x = reshape(tensor<double>({0, 0, 1, 0, nan, 2}), {3, 2});
  EXPECT_THAT(any_of(x, {1}).to_vector(), ElementsAre(0, 1, 1));
  EXPECT_THAT(all_of(x, {-1}).to_vector(), ElementsAre(0, 0, 1));
  EXPECT_EQ(any_of(x).item(), 1);
  EXPECT_EQ(all_of(x > -1).item(), 0);  // NaN is not above -1
  EXPECT_EQ(any_of(zeros({0})).item(), 0);
  EXPECT_EQ(all_of(zeros({0})).item(), 1);
  EXPECT_EQ(all_of(zeros({2, 0}), {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(any_of(scalar(3)).item(), 1);
  EXPECT_EQ(any_of(x).dtype(), DType::boolean);
}

TEST(Statistics, KindsOfNumbers) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const Tensor x = cast(tensor<double>({1, inf, -inf, nan, 0}), dtype);
    EXPECT_THAT(isnan(x).to_vector(), ElementsAre(0, 0, 0, 1, 0));
    EXPECT_THAT(isinf(x).to_vector(), ElementsAre(0, 1, 1, 0, 0));
    EXPECT_THAT(isfinite(x).to_vector(), ElementsAre(1, 0, 0, 0, 1));
  }
  EXPECT_THAT(isfinite(arange(2)).to_vector(), ElementsAre(1, 1));
  EXPECT_THAT(isinf(tensor<bool>({true})).to_vector(), ElementsAre(0));
  EXPECT_THAT(isnan(arange(1)).to_vector(), ElementsAre(0));
}

TEST(Statistics, CountsAndWeighsOccurrences) {
  const Tensor x = reshape(tensor<std::int64_t>({3, 0, 3, 1}), {2, 2});
  EXPECT_THAT(bincount(x, 5).to_vector(), ElementsAre(1, 1, 0, 2, 0));
  EXPECT_THAT(bincount(zeros({0}, DType::i64), 2).to_vector(), ElementsAre(0, 0));
  const auto weighted = [&](Tensor w) { return bincount(x, 4, w); };
  EXPECT_THAT(weighted(reshape(tensor<double>({1, 2, 4, 8}), {2, 2})).to_vector(), ElementsAre(2, 8, 0, 5));
  expect_gradient(weighted, numbers_of({2, 2}));
  EXPECT_EQ(code_of([&] { bincount(x, 3).to_vector(); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { bincount(x, -1); }), ErrorCode::bad_attribute);
}

TEST(Statistics, SearchesAmongSortedValues) {
  const Tensor sorted = tensor<double>({1, 2, 2, 5, nan});
  const Tensor values = tensor<double>({0, 1, 2, 3, 5, 6, nan, -inf, inf});
  EXPECT_THAT(searchsorted(sorted, values).to_vector(), ElementsAre(0, 0, 1, 3, 3, 4, 4, 0, 4));
  EXPECT_THAT(searchsorted(sorted, values, true).to_vector(), ElementsAre(0, 1, 3, 3, 4, 4, 5, 0, 4));
  EXPECT_THAT(searchsorted(zeros({0}, DType::f64), values.at(Range{0, 2})).to_vector(), ElementsAre(0, 0));
  for (std::int64_t n = 1; n < 20; ++n) {  // every length, every place
    const Tensor places = searchsorted(arange(n), arange(n + 2) - 1, true);
    EXPECT_EQ(places.to_vector(), minimum(arange(n + 2), n).to_vector());
  }
  EXPECT_EQ(code_of([&] { searchsorted(reshape(arange(4), {2, 2}), values); }), ErrorCode::shape_mismatch);
}

TEST(Statistics, CompiledFunctionsGiveTheSame) {
  const auto f = [](Tensor x) {
    return sum(norm(x, 3, {1})) + median(x) + stddev(x, {0, 1}, false, 1) +
           sum(cast(isfinite(x), DType::f64));
  };
  const Tensor x = numbers_of({3, 5});
  auto compiled = compile(f);
  EXPECT_EQ(compiled(x).item(), f(x).item());
}

}  // namespace
}  // namespace tidemark
