#include "tidemark/nn/ctc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Case {
  int steps;
  std::vector<int> labels;
};

// All ways to say one class per step, of which those count that become the labels when repetitions and then
// blanks are taken out.
double by_enumeration(const std::vector<double>& log_p, int time_stride, int classes, const Case& c,
                      int blank) {
  double total = 0;
  std::vector<int> way(c.steps, 0);
  while (true) {
    std::vector<int> said;
    double log_way = 0;
    for (int t = 0; t < c.steps; ++t) {
      log_way += log_p[t * time_stride + way[t]];
      if (way[t] != blank && (t == 0 || way[t] != way[t - 1])) said.push_back(way[t]);
    }
    if (said == c.labels) total += std::exp(log_way);
    int t = 0;
    while (t < c.steps && ++way[t] == classes) way[t++] = 0;
    if (t == c.steps) break;
  }
  return -std::log(total);
}

struct Batch {
  Tensor labels, steps, lengths;
};
Batch padded(const std::vector<Case>& cases, int width, int fill) {
  std::vector<std::int32_t> labels, steps, lengths;
  for (const Case& c : cases) {
    for (int i = 0; i < width; ++i) {
      labels.push_back(i < static_cast<int>(c.labels.size()) ? c.labels[i] : fill);
    }
    steps.push_back(c.steps);
    lengths.push_back(static_cast<std::int32_t>(c.labels.size()));
  }
  const auto count = static_cast<std::int64_t>(cases.size());
  return {tensor(labels, {count, width}), tensor(steps, {count}), tensor(lengths, {count})};
}

Tensor scores(int time, int batch, int classes) {
  return random_normal(key(5), {time, batch, classes}, 0, 2, DType::f64);
}

TEST(CtcLoss, IsTheSumOverAllAlignments) {
  constexpr int time = 5, classes = 3;
  for (const int blank : {0, 2}) {
    const int a = blank == 0 ? 1 : 0, b = blank == 0 ? 2 : 1;
    const std::vector<Case> cases = {{5, {a, b}},    {5, {a, a}}, {4, {a, b, a}}, {5, {}},       {1, {b}},
                                     {5, {a, a, a}}, {0, {}},     {3, {b, b}},    {5, {a, b, b}}};
    const Batch batch = padded(cases, 3, -1);
    const int count = static_cast<int>(cases.size());
    const Tensor log_p = log_softmax(scores(time, count, classes));
    const std::vector<double> p = log_p.to_vector();
    const std::vector<double> losses =
        ctc_loss(log_p, batch.labels, batch.steps, batch.lengths, {Reduction::none, blank}).to_vector();
    double mean = 0;
    for (int i = 0; i < count; ++i) {
      const std::vector<double> own(p.begin() + i * classes, p.end());
      const double expected = by_enumeration(own, count * classes, classes, cases[i], blank);
      EXPECT_NEAR(losses[i], expected, 1e-12) << i;
      mean += expected / std::max<double>(1, static_cast<double>(cases[i].labels.size())) / count;
    }
    EXPECT_NEAR(ctc_loss(log_p, batch.labels, batch.steps, batch.lengths, {Reduction::mean, blank}).item(),
                mean, 1e-12);
    const auto loss = [&](Tensor x) {
      return ctc_loss(log_softmax(x), batch.labels, batch.steps, batch.lengths, {Reduction::sum, blank});
    };
    testing::expect_gradient(loss, scores(time, count, classes));
  }
}

TEST(CtcLoss, IsInfiniteWhereLabelsDoNotFitAndSpoilsNoGradient) {
  const std::vector<Case> cases = {{3, {1, 1, 1}}, {4, {1, 2}}, {0, {1}}};
  const Batch batch = padded(cases, 3, 7);
  const Tensor x = scores(4, 3, 3);
  const auto losses = [&](Tensor s, bool zero) {
    return ctc_loss(log_softmax(s), batch.labels, batch.steps, batch.lengths, {Reduction::none, 0, zero});
  };
  const std::vector<double> plain = losses(x, false).to_vector(), zeroed = losses(x, true).to_vector();
  EXPECT_TRUE(std::isinf(plain[0]) && std::isinf(plain[2]));
  EXPECT_EQ(zeroed, (std::vector<double>{0, plain[1], 0}));
  for (const bool zero : {false, true}) {
    const Tensor g = grad([&](Tensor s) { return sum(losses(s, zero)); })(x);
    EXPECT_EQ(max(abs(g.at(all, 0))).item(), 0);
    EXPECT_EQ(max(abs(g.at(all, 2))).item(), 0);
    EXPECT_GT(max(abs(g.at(all, 1))).item(), 0);
  }
}

TEST(CtcLoss, TakesProbabilitiesOfZeroAndEmptyTargets) {
  Tensor log_p = log_softmax(scores(3, 1, 2));
  log_p.at(1, 0, 1) = -std::numeric_limits<double>::infinity();
  const Tensor label = tensor(std::vector<std::int64_t>{1}, {1, 1}), one = tensor({std::int64_t{1}}),
               three = tensor({std::int64_t{3}}), none = tensor({std::int64_t{0}});
  const auto loss = [&](Tensor x) { return ctc_loss(x, label, three, one); };
  const std::vector<double> p = log_p.to_vector();
  EXPECT_NEAR(loss(log_p).item(), by_enumeration(p, 2, 2, {3, {1}}, 0), 1e-13);
  for (double g : grad(loss)(log_p).to_vector()) EXPECT_TRUE(std::isfinite(g));
  const Tensor empty = zeros({1, 0}, DType::i64);
  EXPECT_NEAR(ctc_loss(log_p, empty, three, none).item(), -(p[0] + p[2] + p[4]), 1e-13);
}

TEST(CtcLoss, StandsLongSequencesInSinglePrecision) {
  constexpr std::int64_t time = 400;
  const Tensor x = cast(scores(time, 2, 8), DType::f32);
  const Tensor labels = cast(floor(random_uniform(key(1), {2, 40}, 1, 8)), DType::i32);
  const Tensor steps = tensor({std::int64_t{time}, std::int64_t{time - 50}}),
               lengths = full({2}, 40, DType::i64);
  const auto loss = [&](Tensor s) { return ctc_loss(log_softmax(s), labels, steps, lengths); };
  const auto [value, gradient] = value_and_grad(loss)(x);
  const auto [exact, exact_gradient] = value_and_grad(loss)(cast(x, DType::f64));
  EXPECT_NEAR(value.item() / exact.item(), 1, 1e-5);
  EXPECT_LT(max(abs(cast(gradient, DType::f64) - exact_gradient)).item(), 1e-5);
}

TEST(CtcLoss, TellsWhatIsWrong) {
  const Tensor x = scores(3, 2, 4), labels = zeros({2, 1}, DType::i64), lengths = ones({2}, DType::i64);
  EXPECT_EQ(testing::code_of([&] { ctc_loss(x, labels, lengths, ones({3}, DType::i64)); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { ctc_loss(x, labels, lengths, lengths, {.blank = 4}); }),
            ErrorCode::bad_attribute);
}

TEST(CtcLoss, OfNoExamplesIsZero) {
  const Tensor none = zeros({0}, DType::i64);
  for (const Reduction reduction : {Reduction::mean, Reduction::batch_mean, Reduction::sum}) {
    const auto loss = [&](Tensor x) {
      return ctc_loss(log_softmax(x), zeros({0, 2}, DType::i64), none, none, {.reduction = reduction});
    };
    const auto [value, slope] = value_and_grad(loss)(ones({3, 0, 4}));
    EXPECT_EQ(value.item(), 0);
    EXPECT_EQ(slope.shape(), (Shape{3, 0, 4}));
  }
}

TEST(CtcLoss, RefusesLengthsThatAreNone) {
  const Tensor x = log_softmax(scores(3, 2, 4)), labels = ones({2, 2}, DType::i64);
  const Tensor good = ones({2}, DType::i32);
  for (const DType dtype : {DType::f32, DType::f64, DType::boolean}) {
    const Tensor lengths = ones({2}, dtype);
    EXPECT_EQ(testing::code_of([&] { ctc_loss(x, labels, lengths, good); }), ErrorCode::dtype_mismatch);
    EXPECT_EQ(testing::code_of([&] { ctc_loss(x, labels, good, lengths); }), ErrorCode::dtype_mismatch);
  }
  const auto code = [&](std::int32_t steps, std::int32_t count) {
    const Tensor step_lengths = tensor<std::int32_t>({3, steps}),
                 label_lengths = tensor<std::int32_t>({1, count});
    return testing::code_of([&] { ctc_loss(x, labels, step_lengths, label_lengths).item(); });
  };
  EXPECT_EQ(code(3, 2), ErrorCode{0});
  EXPECT_EQ(code(0, 0), ErrorCode{0});
  for (const std::int32_t steps : {4, 100, -1})
    EXPECT_EQ(code(steps, 1), ErrorCode::index_out_of_range) << steps;
  for (const std::int32_t count : {3, 100, -1})
    EXPECT_EQ(code(3, count), ErrorCode::index_out_of_range) << count;
  const auto message = [&](std::int32_t steps, std::int32_t count) -> std::string {
    try {
      ctc_loss(x, labels, tensor<std::int32_t>({3, steps}), tensor<std::int32_t>({1, count})).item();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(4, 1), AllOf(HasSubstr("ctc_loss: the step length 4 at (1)"), HasSubstr("0 to 3")));
  EXPECT_THAT(message(3, -1), AllOf(HasSubstr("ctc_loss: the label length -1 at (1)"), HasSubstr("0 to 2")));
  // In a compiled program lengths are known only when it runs.
  const auto loss = compile([&](Tensor steps) { return ctc_loss(x, labels, steps, good); });
  EXPECT_EQ(testing::code_of([&] { loss(tensor<std::int32_t>({3, 4})); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(loss(tensor<std::int32_t>({3, 2})).item(),
            ctc_loss(x, labels, tensor<std::int32_t>({3, 2}), good).item());
}

}  // namespace
}  // namespace tidemark::nn
