#include "tidemark/ops/normalization/linear_cross_entropy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/op_rules.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Attributes = LinearCrossEntropyAttrs;

// The definition, in doubles.
struct Defined {
  double total = 0;
  std::vector<double> loss, dx, dw;
};
Defined defined(const Literal& x, const Literal& w, const Literal& labels, const Literal& weights,
                const Attributes& attrs) {
  const auto xs = values_of(x), ws = values_of(w), ys = values_of(labels), factors = values_of(weights);
  const std::size_t width = static_cast<std::size_t>(x.shape.back()), examples = ys.size();
  const std::size_t classes = static_cast<std::size_t>(w.shape[attrs.columns ? 1 : 0]);
  const auto at = [&](std::size_t c, std::size_t i) {
    return attrs.columns ? i * classes + c : c * width + i;
  };
  Defined result{.loss = {}, .dx = std::vector<double>(xs.size()), .dw = std::vector<double>(ws.size())};
  for (std::size_t r = 0; r < examples; ++r) {
    if (attrs.ignore && ys[r] == static_cast<double>(attrs.ignore_index)) {
      result.loss.push_back(0);
      continue;
    }
    std::vector<double> logits(classes);
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t i = 0; i < width; ++i) logits[c] += xs[r * width + i] * ws[at(c, i)];
    }
    double sum = 0;
    for (double logit : logits) sum += std::exp(logit);
    const auto label = static_cast<std::size_t>(ys[r]);
    result.loss.push_back(std::log(sum) - logits[label]);
    result.total += factors[r] * result.loss.back();
    for (std::size_t c = 0; c < classes; ++c) {
      const double g = factors[r] * (std::exp(logits[c]) / sum - (c == label ? 1 : 0));
      for (std::size_t i = 0; i < width; ++i) {
        result.dx[r * width + i] += g * ws[at(c, i)];
        result.dw[at(c, i)] += g * xs[r * width + i];
      }
    }
  }
  return result;
}

// Chunks of which the last is shorter; classes in tiles, of which the last is shorter, and few classes.
TEST(LinearCrossEntropy, EqualsItsDefinitionForEveryDtypeAndSize) {
  struct Size {
    std::int64_t examples, width, classes;
  };
  const std::pair<DType, double> dtypes[] = {
      {DType::f64, 1e-12}, {DType::f32, 3e-5}, {DType::bf16, 3e-5}, {DType::f16, 3e-5}};
  for (auto [dtype, tolerance] : dtypes) {
    for (const Size size : {Size{1, 1, 1}, Size{7, 5, 3}, Size{250, 7, 3'500}, Size{2'000, 3, 900}}) {
      for (const bool columns : {false, true}) {
        const Attributes attrs{
            .ignore = true, .ignore_index = 2, .columns = columns, .x_gradient = true, .w_gradient = true};
        const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
        const Literal x = random_literal(dtype, {size.examples, size.width}, 1, -1, 1);
        const Shape matrix = columns ? Shape{size.width, size.classes} : Shape{size.classes, size.width};
        const Literal w = random_literal(dtype, matrix, 2, -1, 1);
        const Literal labels = random_literal(columns ? DType::i32 : DType::i64, {size.examples}, 3, 0,
                                              static_cast<double>(size.classes));
        const Literal weights = random_literal(wide, {size.examples}, 4, -2, 2);
        const Defined expected = defined(x, w, labels, weights, attrs);
        const auto results = run(op::linear_cross_entropy, {x, w, labels, weights}, pack(attrs));
        ASSERT_EQ(results.size(), 4u);
        for (const Literal& result : results) EXPECT_EQ(result.dtype, wide);
        const double sum = tolerance * static_cast<double>(size.examples);
        expect_near(values_of(results[0]), {expected.total}, sum);
        expect_near(values_of(results[1]), expected.loss, tolerance);
        expect_near(values_of(results[2]), expected.dx, tolerance);
        expect_near(values_of(results[3]), expected.dw, sum);
      }
    }
  }
}

TEST(LinearCrossEntropy, IsStableFarOutAndWhereAProbabilityIsOne) {
  const Literal x = literal_of(DType::f32, {2, 1}, {1, 1}),
                w = literal_of(DType::f32, {3, 1}, {1e4, -1e4, 0});
  const Literal labels = literal_of(DType::i64, {2}, {0, 1}), weights = literal_of(DType::f32, {2}, {1, 1});
  const auto results = run(op::linear_cross_entropy, {x, w, labels, weights},
                           pack(Attributes{.x_gradient = true, .w_gradient = true}));
  expect_near(values_of(results[1]), {0, 2e4}, 1e-6);
  expect_near(values_of(results[2]), {0, 2e4}, 1e-6);
  expect_near(values_of(results[3]), {1, -1, 0}, 1e-6);
}

TEST(LinearCrossEntropy, AnIgnoredExampleThatIsNotANumberReachesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Literal x = literal_of(DType::f64, {2, 1}, {1, nan}), w = literal_of(DType::f64, {2, 1}, {1, 2});
  const Literal labels = literal_of(DType::i64, {2}, {0, -1}), weights = literal_of(DType::f64, {2}, {1, 1});
  const auto results = run(op::linear_cross_entropy, {x, w, labels, weights},
                           pack(Attributes{.ignore = true, .ignore_index = -1, .x_gradient = true}));
  EXPECT_TRUE(std::isfinite(values_of(results[0])[0]));
  EXPECT_EQ(values_of(results[1])[1], 0);
  EXPECT_EQ(values_of(results[2])[1], 0);
}

TEST(LinearCrossEntropy, TakesNoExamplesAndNoWidth) {
  const Attributes attrs{.x_gradient = true, .w_gradient = true};
  const Literal none = literal_of(DType::f32, {0, 2}, {}), w = literal_of(DType::f32, {2, 2}, {1, 2, 3, 4});
  auto results =
      run(op::linear_cross_entropy,
          {none, w, literal_of(DType::i64, {0}, {}), literal_of(DType::f32, {0}, {})}, pack(attrs));
  EXPECT_EQ(values_of(results[0])[0], 0);
  expect_near(values_of(results[3]), {0, 0, 0, 0}, 0);
  results = run(op::linear_cross_entropy,
                {literal_of(DType::f32, {1, 0}, {}), literal_of(DType::f32, {4, 0}, {}),
                 literal_of(DType::i64, {1}, {3}), literal_of(DType::f32, {1}, {1})},
                pack(attrs));
  expect_near(values_of(results[0]), {std::log(4.0)}, 1e-6);
}

TEST(LinearCrossEntropy, SaysWhatIsWrong) {
  const Literal x = random_literal(DType::f32, {2, 3}, 1, -1, 1),
                w = random_literal(DType::f32, {5, 3}, 2, -1, 1),
                across = random_literal(DType::f32, {3, 5}, 2, -1, 1),
                labels = literal_of(DType::i64, {2}, {0, 5}), weights = literal_of(DType::f32, {2}, {1, 1}),
                narrow = literal_of(DType::f64, {2}, {1, 1});
  const auto message = [&](const Literal& matrix, const Literal& factors) -> std::string {
    try {
      run(op::linear_cross_entropy, {x, matrix, labels, factors}, pack(Attributes{}));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(message(w, weights), HasSubstr("label 5 of example 1"));
  EXPECT_THAT(message(across, weights), HasSubstr("{.columns = true}"));
  EXPECT_THAT(message(w, narrow), HasSubstr("the weights are f64"));
}

}  // namespace
}  // namespace tidemark
