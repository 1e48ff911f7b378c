#include "tidemark/optim/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Line {
  Tensor slope;   // (2, 2), decays
  Tensor offset;  // (2), does not
  TM_FIELDS(Line, slope, offset)
};

// A loss whose gradient is known: ½ Σ slope² + Σ c offset gives slope and c.
Tensor loss(const Line& line, Tensor c) {
  return sum(square(line.slope)) * 0.5 + sum(cast(line.offset, DType::f32) * c);
}

Line start() { return {tensor(std::vector<float>{0.5f, -1, 2, 3}, {2, 2}), tensor<float>({1.0f, -2.0f})}; }
Tensor slope_of_offset() { return tensor<float>({0.25f, -4.0f}); }

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance = 1e-6) {
  const std::vector<double> values = got.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

// The formulas, one number at a time in double.
struct HandAdamW {
  double w, decay, m = 0, v = 0;
  int t = 0;
  void update(double g, const AdamW& o) {
    ++t;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double mean = m / (1 - std::pow(o.beta1, t)), variance = v / (1 - std::pow(o.beta2, t));
    w = w - o.lr * decay * w - o.lr * mean / (std::sqrt(variance) + o.eps);
  }
};
struct HandMomentum {
  double w, decay, v = 0;
  void update(double gradient, const Momentum& o) {
    const double g = gradient + decay * w;
    v = o.beta * v + g;
    w -= o.lr * (o.nesterov ? g + o.beta * v : v);
  }
};

TEST(Sgd, FollowsTheFormula) {
  const auto train = step(Sgd{.lr = 0.1}, loss);
  const auto [state, value] = train(Sgd{}.init(start()), slope_of_offset());
  expect_near(state.parameters.slope, {0.45, -0.9, 1.8, 2.7});
  expect_near(state.parameters.offset, {0.975, -1.6});
  EXPECT_NEAR(value.item(), 0.5 * 14.25 + 0.25 + 8, 1e-5);
}

TEST(Momentum, FollowsTheFormulaOverSteps) {
  for (const bool nesterov : {false, true}) {
    const Momentum optimizer{.lr = 0.05, .beta = 0.8, .weight_decay = 0.1, .nesterov = nesterov};
    const auto train = compile(step(optimizer, loss), {.donate = {0}});
    auto state = optimizer.init(start());
    std::vector<HandMomentum> slope, offset;
    for (double w : start().slope.to_vector()) slope.push_back({w, 0.1});
    for (double w : start().offset.to_vector()) offset.push_back({w, 0});
    const std::vector<double> c = slope_of_offset().to_vector();
    for (int i = 0; i < 5; ++i) {
      state = train(state, slope_of_offset()).first;
      for (HandMomentum& p : slope) p.update(p.w, optimizer);
      for (std::size_t k = 0; k < 2; ++k) offset[k].update(c[k], optimizer);
    }
    expect_near(state.parameters.slope, {slope[0].w, slope[1].w, slope[2].w, slope[3].w});
    expect_near(state.parameters.offset, {offset[0].w, offset[1].w});
  }
}

TEST(AdamW, FollowsTheFormulaOverSteps) {
  const AdamW optimizer{.lr = 0.02, .weight_decay = 0.1};
  const auto train = compile(step(optimizer, loss), {.donate = {0}});
  auto state = optimizer.init(start());
  std::vector<HandAdamW> slope, offset;
  for (double w : start().slope.to_vector()) slope.push_back({w, 0.1});
  for (double w : start().offset.to_vector()) offset.push_back({w, 0});
  const std::vector<double> c = slope_of_offset().to_vector();
  for (int i = 0; i < 10; ++i) {
    state = train(state, slope_of_offset()).first;
    for (HandAdamW& p : slope) p.update(p.w, optimizer);
    for (std::size_t k = 0; k < 2; ++k) offset[k].update(c[k], optimizer);
  }
  EXPECT_EQ(state.steps.item(), 10);
  expect_near(state.parameters.slope, {slope[0].w, slope[1].w, slope[2].w, slope[3].w});
  expect_near(state.parameters.offset, {offset[0].w, offset[1].w});
  expect_near(state.mean.slope, {slope[0].m, slope[1].m, slope[2].m, slope[3].m});
}

TEST(AdamW, TheFirstStepMovesEveryWeightByTheRate) {
  const AdamW optimizer{.lr = 0.5, .weight_decay = 0};
  const auto state = step(optimizer, loss)(optimizer.init(start()), slope_of_offset()).first;
  expect_near(state.parameters.slope, {0.0, -0.5, 1.5, 2.5}, 1e-5);
  expect_near(state.parameters.offset, {0.5, -1.5}, 1e-5);
}

TEST(AdamW, MomentsOfSixteenBitParametersAreF32) {
  const AdamW optimizer{.lr = 0.5, .weight_decay = 0};
  Line line = start();
  line.offset = cast(line.offset, DType::bf16);
  const auto state = step(optimizer, loss)(optimizer.init(line), slope_of_offset()).first;
  EXPECT_EQ(state.parameters.offset.dtype(), DType::bf16);
  EXPECT_EQ(state.mean.offset.dtype(), DType::f32);
  EXPECT_EQ(state.variance.offset.dtype(), DType::f32);
  expect_near(state.parameters.offset, {0.5, -1.5}, 1e-2);
}

TEST(Step, PassesOnWhatTheLossReturnsBesides) {
  const auto with_norm = [](const Line& line, Tensor c) { return std::pair(loss(line, c), sum(line.slope)); };
  const auto [state, value] = step(Sgd{}, with_norm)(Sgd{}.init(start()), slope_of_offset());
  EXPECT_NEAR(value.second.item(), 4.5, 1e-6);
}

TEST(Momentum, DonatedStateIsCountedOnce) {
  const Momentum optimizer;
  const auto train = compile(step(optimizer, loss), {.donate = {0}});
  const auto planned = train.prepare(optimizer.init(start()), slope_of_offset());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(planned.graph.inputs()[i].donated);
  EXPECT_FALSE(planned.graph.inputs()[4].donated);
}

TEST(Optimizers, TreesOfAnotherLengthAreRefusedAtTheLineOfTheUpdate) {
  using Trees = std::vector<Tensor>;
  const Trees two = {ones({2}), ones({3})}, one = {ones({2})};
  const Tensor steps = zeros({}, DType::i32);
  for (const auto& mistake : std::vector<std::function<void()>>{
           [&] { Sgd{}.update(Sgd{}.init(two), one); }, [&] { Momentum{}.update(Momentum{}.init(two), one); },
           [&] {
             Momentum{}.update({two, one}, two);
           },
           [&] { AdamW{}.update(AdamW{}.init(two), one); },
           [&] {
             AdamW{}.update({two, one, two, steps}, two);
           },
           [&] {
             AdamW{}.update({two, two, one, steps}, two);
           }}) {
    try {
      mistake();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::structure_mismatch);
      EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
    }
  }
}

}  // namespace
}  // namespace tidemark::optim
