#include "tidemark/nn/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Tensor numbers(const std::vector<double>& values, const Shape& shape) { return tensor(values, shape); }
Tensor whole(const std::vector<std::int64_t>& values) {
  return tensor(values, Shape{static_cast<std::int64_t>(values.size())});
}
Tensor draw(int seed, const Shape& shape) { return random_normal(key(seed), shape, 0, 1, DType::f64); }

// By its definition: the loss of each example, then the weight it has in a mean.
std::vector<std::pair<double, double>> by_definition(const Tensor& logits, const Tensor& labels,
                                                     const ClassLossOptions& options) {
  const std::int64_t classes = logits.size(-1);
  const std::vector<double> x = logits.to_vector(), y = labels.to_vector();
  const std::vector<double> w =
      options.weights.empty() ? std::vector<double>(classes, 1.0) : options.weights.to_vector();
  std::vector<std::pair<double, double>> result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (options.ignore && y[i] == static_cast<double>(*options.ignore)) {
      result.emplace_back(0, 0);
      continue;
    }
    const double* row = &x[i * classes];
    double total = 0, loss = 0;
    for (int c = 0; c < classes; ++c) total += std::exp(row[c]);
    for (int c = 0; c < classes; ++c) {
      const double share = options.smoothing / static_cast<double>(classes) +
                           (c == static_cast<int>(y[i]) ? 1 - options.smoothing : 0);
      loss -= share * w[c] * (row[c] - std::log(total));
    }
    result.emplace_back(loss, w[static_cast<int>(y[i])]);
  }
  return result;
}

TEST(ClassificationLoss, IsItsDefinitionWithEveryOption) {
  const Tensor logits = draw(1, {5, 4}), labels = whole({3, 0, 2, 2, 1});
  const Tensor weights = numbers({0.5, 2, 0, 1.5}, {4});
  for (const bool ignore : {false, true}) {
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      for (const Tensor& w : {Tensor(), weights}) {
        ClassLossOptions options{.smoothing = smoothing, .weights = w};
        if (ignore) options.ignore = 2;
        const auto expected = by_definition(logits, labels, options);
        double sum = 0, count = 0;
        for (const auto& [loss, weight] : expected) sum += loss, count += weight;
        EXPECT_NEAR(classification_loss(logits, labels, options).item(), sum / count, 1e-12);
        options.reduction = Reduction::sum;
        EXPECT_NEAR(classification_loss(logits, labels, options).item(), sum, 1e-12);
        options.reduction = Reduction::none;
        const std::vector<double> each = classification_loss(logits, labels, options).to_vector();
        const std::vector<double> other = nll_loss(log_softmax(logits), labels, options).to_vector();
        for (std::size_t i = 0; i < each.size(); ++i) {
          EXPECT_NEAR(each[i], expected[i].first, 1e-12);
          EXPECT_NEAR(other[i], expected[i].first, 1e-12);
        }
        options.reduction = Reduction::mean;
        const auto loss = [&](Tensor x) { return classification_loss(x, labels, options); };
        testing::expect_gradient(loss, logits);
      }
    }
  }
}

TEST(ClassificationLoss, IsZeroWhereNothingCounts) {
  const Tensor logits = draw(1, {3, 4}), labels = whole({-100, -100, -100});
  const auto loss = [&](Tensor x) {
    return classification_loss(x, labels, {.ignore = -100, .smoothing = 0.1});
  };
  const auto [value, gradient] = value_and_grad(loss)(logits);
  EXPECT_EQ(value.item(), 0);
  for (double g : gradient.to_vector()) EXPECT_EQ(g, 0);
}

TEST(ClassificationLoss, StandsLogitsFarApart) {
  const Tensor logits = numbers({1e300, 0, -1e300, 0, 1e300, -1e300}, {2, 3});
  const auto loss = [&](Tensor x) { return classification_loss(x, whole({0, 1}), {}); };
  const auto [value, gradient] = value_and_grad(loss)(logits);
  EXPECT_EQ(value.item(), 0);
  for (double g : gradient.to_vector()) EXPECT_EQ(g, 0);
}

TEST(ClassificationLoss, TakesImagesOfLabelsAndHalfPrecision) {
  const Tensor logits = draw(1, {2, 3, 3, 4});
  const Tensor labels = cast(floor(random_uniform(key(2), {2, 3, 3}, 0, 4)), DType::i32);
  const ClassLossOptions options{.ignore = 1, .smoothing = 0.1, .weights = numbers({1, 2, 3, 4}, {4})};
  const double exact = classification_loss(logits, labels, options).item();
  const Tensor coarse = classification_loss(cast(logits, DType::bf16), labels, options);
  EXPECT_EQ(coarse.dtype(), DType::f32);
  EXPECT_NEAR(coarse.item(), exact, 2e-2);
}

TEST(ClassificationLoss, TellsWhatIsWrong) {
  const Tensor logits = draw(1, {2, 3}), labels = whole({0, 1});
  EXPECT_EQ(testing::code_of([&] { classification_loss(logits, labels, {.smoothing = 1.5}); }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([&] { classification_loss(logits, labels, {.weights = ones({4})}); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { nll_loss(logits, whole({0, 1, 2})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { nll_loss(logits, whole({0, 3})); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(testing::code_of([&] { squared_error(logits, ones({3}, DType::f64)); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { huber_loss(logits, logits, 0); }), ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([&] { smooth_absolute_error(logits, logits, -1); }), ErrorCode::bad_attribute);
}

TEST(BinaryLoss, IsTheSameFromLogitsAndFromProbabilities) {
  const Tensor logits = draw(1, {3, 4}), y = random_uniform(key(2), {3, 4}, 0, 1, DType::f64);
  const auto from_logits = [&](Tensor x) { return binary_logits_loss(x, y); };
  const auto from_probabilities = [&](Tensor x) { return binary_loss(sigmoid(x), y); };
  EXPECT_NEAR(from_logits(logits).item(), from_probabilities(logits).item(), 1e-14);
  const std::vector<double> g = grad(from_logits)(logits).to_vector(),
                            h = grad(from_probabilities)(logits).to_vector();
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(g[i], h[i], 1e-14);
  testing::expect_gradient(from_logits, logits);
  const BinaryLogitsOptions heavy{.positive_weight = numbers({1, 2, 3, 0}, {4})};
  testing::expect_gradient([&](Tensor x) { return binary_logits_loss(x, y, heavy); }, logits);
}

TEST(BinaryLoss, StandsSureAnswers) {
  const Tensor x = numbers({0, 1, 0, 1}, {4}), y = numbers({1, 0, 0, 1}, {4});
  const auto each = [&](Tensor p) { return binary_loss(p, y, Reduction::none); };
  EXPECT_EQ(each(x).to_vector(), (std::vector<double>{100, 100, 0, 0}));
  for (double g : grad([&](Tensor p) { return sum(each(p)); })(x).to_vector()) EXPECT_TRUE(std::isfinite(g));
  EXPECT_TRUE(std::isnan(binary_loss(numbers({-0.5}, {1}), numbers({1}, {1})).item()));

  const Tensor far = numbers({1e300, -1e300, 800, -800}, {4});
  const auto losses = [&](Tensor p) { return binary_logits_loss(p, y, {.reduction = Reduction::none}); };
  EXPECT_EQ(losses(far).to_vector(), (std::vector<double>{0, 0, 800, 800}));
  EXPECT_EQ(grad([&](Tensor p) { return sum(losses(p)); })(far).to_vector(),
            (std::vector<double>{0, 0, 1, -1}));
}

TEST(HuberLoss, IsQuadraticNearAndLinearFar) {
  const Tensor x = numbers({0, 1, -2, 3, -1e300}, {5}), y = zeros({5}, DType::f64);
  const auto huber = [&](Tensor p) { return huber_loss(p, y, 2, Reduction::none); };
  EXPECT_EQ(huber(x).to_vector(), (std::vector<double>{0, 0.5, 2, 4, 2e300}));
  EXPECT_EQ(grad([&](Tensor p) { return sum(huber(p)); })(x).to_vector(),
            (std::vector<double>{0, 1, -2, 2, -2}));
  EXPECT_EQ(smooth_absolute_error(x, y, 2, Reduction::none).to_vector(),
            (std::vector<double>{0, 0.25, 1, 2, 1e300}));
  EXPECT_EQ(smooth_absolute_error(x, y, 0, Reduction::none).to_vector(),
            absolute_error(x, y, Reduction::none).to_vector());
  EXPECT_EQ(squared_error(numbers({1, 3}, {2}), zeros({2}, DType::f64), Reduction::sum).item(), 10);
}

TEST(DivergenceLoss, IsZeroForWhatNeverHappens) {
  const Tensor log_q = numbers({std::log(0.5), std::log(0.5), -infinite}, {1, 3});
  const Tensor p = numbers({0.25, 0.75, 0}, {1, 3});
  const double expected = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  EXPECT_NEAR(divergence_loss(log_q, p).item(), expected, 1e-15);
  EXPECT_NEAR(divergence_loss(log_q, log(p), {.log_target = true}).item(), expected, 1e-15);
  EXPECT_EQ(grad([&](Tensor q) { return divergence_loss(q, p); })(log_q).to_vector(),
            (std::vector<double>{-0.25, -0.75, 0}));
  for (double g : grad([&](Tensor t) { return divergence_loss(log_q, t); })(p).to_vector()) {
    EXPECT_TRUE(std::isfinite(g));
  }
  const Tensor q = log_softmax(draw(1, {3, 4})), target = softmax(draw(2, {3, 4}));
  testing::expect_gradient([&](Tensor x) { return divergence_loss(log_softmax(x), target); }, q);
  testing::expect_gradient([&](Tensor t) { return divergence_loss(q, t, {.log_target = true}); }, q);
}

TEST(CosineLoss, PullsAlikeTogetherAndPushesOthersApart) {
  const Tensor x = numbers({1, 0, 1, 1, 3, 4, 0, 0}, {4, 2}), y = numbers({2, 0, 1, 0, 3, 4, 1, 1}, {4, 2});
  const Tensor labels = numbers({1, 1, -1, 1}, {4});
  const std::vector<double> each = cosine_loss(x, y, labels, 0.5, Reduction::none).to_vector();
  const std::vector<double> expected = {0, 1 - std::sqrt(0.5), 0.5, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(each[i], expected[i], 1e-11);
  for (double g : grad([&](Tensor a) { return cosine_loss(a, y, labels); })(x).to_vector()) {
    EXPECT_TRUE(std::isfinite(g));
  }
  const Tensor a = draw(1, {3, 5}), b = draw(2, {3, 5}), mixed = whole({1, -1, -1});
  testing::expect_gradient([&](Tensor v) { return cosine_loss(v, b, mixed, -1); }, a);
}

TEST(Reduction, IsTheSameForAll) {
  const Tensor x = draw(1, {2, 3}), y = draw(2, {2, 3});
  const double total = squared_error(x, y, Reduction::sum).item();
  EXPECT_NEAR(squared_error(x, y).item(), total / 6, 1e-15);
  EXPECT_NEAR(squared_error(x, y, Reduction::batch_mean).item(), total / 2, 1e-15);
  EXPECT_EQ(squared_error(x, y, Reduction::none).shape(), x.shape());
  EXPECT_EQ(absolute_error(zeros({0}), zeros({0}), Reduction::sum).item(), 0);
}

TEST(ClassificationLoss, OfNoExamplesIsZero) {
  const Tensor logits = zeros({0, 4}, DType::f64), labels = zeros({0}, DType::i64);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::batch_mean}) {
    for (const double smoothing : {0.0, 0.1}) {
      const ClassLossOptions options{.reduction = reduction, .smoothing = smoothing};
      EXPECT_EQ(classification_loss(logits, labels, options).item(), 0);
      EXPECT_EQ(nll_loss(logits, labels, options).item(), 0);
    }
  }
  EXPECT_EQ(grad([&](Tensor x) { return classification_loss(x, labels); })(logits).shape(), (Shape{0, 4}));
}

// Where PyTorch gives NaN: a batch in which nothing counts leaves the parameters alone.
TEST(Losses, MeansOverNothingAreZeroWithGradientZero) {
  const auto expect_zero = [](const char* loss, const auto& f, const Tensor& x) {
    const auto [value, slope] = value_and_grad(f)(x);
    EXPECT_EQ(value.item(), 0) << loss;
    for (const double s : slope.to_vector()) EXPECT_EQ(s, 0) << loss;
  };
  const Tensor none = ones({0, 3}), labels = zeros({0}, DType::i64);
  for (const Reduction reduction : {Reduction::mean, Reduction::batch_mean, Reduction::sum}) {
    const auto elementwise = [&](const char* name, auto loss) {
      expect_zero(
          name,
          [&](Tensor x) {
            return loss(x, ones({0, 3}), reduction);
          },
          none);
    };
    elementwise("binary_loss", [](auto x, auto y, auto r) { return binary_loss(x, y, r); });
    elementwise("binary_logits_loss",
                [](auto x, auto y, auto r) { return binary_logits_loss(x, y, {.reduction = r}); });
    elementwise("squared_error", [](auto x, auto y, auto r) { return squared_error(x, y, r); });
    elementwise("absolute_error", [](auto x, auto y, auto r) { return absolute_error(x, y, r); });
    elementwise("huber_loss", [](auto x, auto y, auto r) { return huber_loss(x, y, 1, r); });
    elementwise("smooth_absolute_error",
                [](auto x, auto y, auto r) { return smooth_absolute_error(x, y, 2, r); });
    elementwise("divergence_loss",
                [](auto x, auto y, auto r) { return divergence_loss(x, y, {.reduction = r}); });
    const ClassLossOptions options{.reduction = reduction, .ignore = -1, .smoothing = 0.1};
    const Tensor ignored = full({4}, -1, DType::i64);
    const auto labelled = [&](const char* name, const auto& f) {
      expect_zero(
          name, [&](Tensor x) { return f(x, labels); }, none);
    };
    labelled("cosine_loss", [&](auto x, auto y) { return cosine_loss(x, ones({0, 3}), y, 0, reduction); });
    labelled("classification_loss", [&](auto x, auto y) { return classification_loss(x, y, options); });
    labelled("nll_loss", [&](auto x, auto y) { return nll_loss(x, y, options); });
    expect_zero(
        "all ignored", [&](Tensor x) { return classification_loss(x, ignored, options); }, ones({4, 3}));
    expect_zero(
        "all ignored, nll", [&](Tensor x) { return nll_loss(x, ignored, options); }, ones({4, 3}));
  }
}

TEST(ClassificationLoss, OffersAnOptionThatItHas) {
  const Tensor logits = draw(1, {2, 3}), labels = whole({-1, 0});
  std::uint32_t line = 0;
  try {
    line = __LINE__, classification_loss(logits, labels);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
    EXPECT_EQ(error.parts().where.line, line) << error.what();
    EXPECT_NE(error.parts().help.find("{.ignore = -1}"), std::string::npos) << error.what();
  }
  EXPECT_GT(classification_loss(logits, labels, {.ignore = -1}).item(), 0);
  try {
    line = __LINE__, nll_loss(logits, labels);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
}

TEST(Losses, DoNotBroadcastWhatShouldBeOneForEach) {
  const Tensor x = draw(1, {3, 4}), y = draw(2, {3, 4}), labels = whole({1, -1, 1});
  for (const Shape& shape : {Shape{3, 1}, Shape{1, 3}}) {
    EXPECT_EQ(testing::code_of([&] { cosine_loss(x, y, reshape(labels, shape)); }),
              ErrorCode::shape_mismatch);
  }
  EXPECT_EQ(testing::code_of([&] { cosine_loss(x, y, whole({1})); }), ErrorCode::shape_mismatch);
  for (const Shape& shape : {Shape{5, 3, 4}, Shape{1, 3, 4}, Shape{3}, Shape{2, 4}}) {
    const BinaryLogitsOptions options{.positive_weight = ones(shape)};
    EXPECT_EQ(testing::code_of([&] { binary_logits_loss(x, sigmoid(y), options); }),
              ErrorCode::shape_mismatch)
        << to_string(shape);
  }
  const Tensor target = sigmoid(y);
  const double plain = binary_logits_loss(x, target).item();
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{4}, Shape{3, 1}, Shape{1, 4}, Shape{3, 4}}) {
    const BinaryLogitsOptions options{.positive_weight = ones(shape)};
    EXPECT_EQ(binary_logits_loss(x, target, options).item(), plain) << to_string(shape);
  }
}

}  // namespace
}  // namespace tidemark::nn
