// What an update takes of the plan's memory: parameters and state once, in place, and gradients one by one.
#include <gtest/gtest.h>

#include "tidemark/nn/mlp.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

using namespace optim;  // NOLINT: what is tested

constexpr std::int64_t width = 256;
constexpr int layers = 8;

Mlp net() { return Mlp::init(key(0), std::vector<std::int64_t>(layers + 1, width)); }
Tensor loss(const Mlp& net, Tensor x, Tensor y) { return mean(square(net(x) - y)); }
Tensor data() { return random_normal(key(1), {4, width}); }

constexpr std::int64_t layer_bytes = 4 * (width * width + width);
constexpr std::int64_t parameter_bytes = layers * layer_bytes;

template <class Optimizer>
PlannedGraph planned(const Optimizer& optimizer) {
  return compile(step(optimizer, loss), {.donate = {0}})
      .prepare(types_of(optimizer.init(net())), data(), data());
}

std::int64_t learned(const PeakSplit& split) {
  return split.of(PeakRole::parameters) + split.of(PeakRole::moments) + split.of(PeakRole::gradients);
}

// All that is not the network's values, at any time: the arena holds little else here.
TEST(Peaks, WithAdamWAreThreeTimesTheParametersAndOneLayersGradient) {
  const PlannedGraph plan = planned(AdamW{});
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_EQ(split.of(PeakRole::parameters), parameter_bytes);
  EXPECT_EQ(split.of(PeakRole::moments), 2 * parameter_bytes + 4);
  EXPECT_LE(learned(split), 3 * parameter_bytes + layer_bytes + 4);
  EXPECT_LE(split.most_gradients, layer_bytes);
  EXPECT_FALSE(split.all_needed);
  EXPECT_LE(plan.peak().count, 3 * parameter_bytes + layer_bytes + layer_bytes / 2);
}

TEST(Peaks, WithEightBitsAreLessThanSixteenTenthsOfTheParametersAndOneLayersGradient) {
  const PlannedGraph plan = planned(AdamW8bit{});
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_LE(learned(split) + split.of(PeakRole::temporaries), parameter_bytes * 16 / 10 + layer_bytes);
  EXPECT_LE(split.most_gradients, layer_bytes);
}

TEST(Peaks, AGlobalNormAsksForAllGradientsAndTheSummarySaysSo) {
  const PlannedGraph plan = planned(clip_norm(1.0, AdamW{}));
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_TRUE(split.all_needed);
  EXPECT_GE(split.most_gradients, parameter_bytes * 9 / 10);
  EXPECT_NE(plan.summary().find("every update needs all of them"), std::string::npos);
  EXPECT_FALSE(
      peak_split(planned(clip_value(1.0, AdamW{})).graph, planned(clip_value(1.0, AdamW{})).plan).all_needed);
}

TEST(Peaks, TheirPartsAddUp) {
  for (const PlannedGraph& plan : {planned(Sgd{}), planned(Adafactor{}), planned(scale_loss(Lion{}))}) {
    const PeakSplit split = peak_split(plan.graph, plan.plan);
    std::int64_t sum = 0;
    for (const std::int64_t bytes : split.bytes) {
      EXPECT_GE(bytes, 0);
      sum += bytes;
    }
    EXPECT_EQ(sum, plan.peak().count);
    EXPECT_EQ(split.of(PeakRole::data), 2 * 4 * 4 * width);
  }
}

TEST(Peaks, OfFunctionsWithoutAnOptimizerHaveNoParameters) {
  const auto f = compile(value_and_grad(loss));
  const PlannedGraph plan = f.prepare(net(), data(), data());
  const PeakSplit split = peak_split(plan.graph, plan.plan);
  EXPECT_EQ(split.of(PeakRole::parameters), 0);
  EXPECT_EQ(split.of(PeakRole::data), parameter_bytes + 2 * 4 * 4 * width);
}

// Every budget gives the same bits, whatever the optimizer.
template <class Optimizer>
void expect_same_bits(const Optimizer& optimizer) {
  const auto small = [] { return Mlp::init(key(0), {16, 64, 64, 8}); };
  const Tensor x = random_normal(key(2), {64, 16}), y = random_normal(key(3), {64, 8});
  const auto run = [&](const CompileOptions& options) {
    const auto train = compile(step(optimizer, loss), options);
    auto state = optimizer.init(small());
    for (int t = 0; t < 3; ++t) state = train(state, x, y).first;
    std::vector<std::byte> bits;
    for_each_tensor(state, [&](const std::string&, const Tensor& tensor) {
      bits.insert(bits.end(), tensor.bytes(), tensor.bytes() + tensor.type().bytes());
    });
    return bits;
  };
  const CompileOptions free{.donate = {0}, .effort = Effort::quick};
  const auto expected = run(free);
  const auto any = compile(step(optimizer, loss), free);
  const std::int64_t most = any.prepare(optimizer.init(small()), x, y).peak().count;
  const std::int64_t least = any.smallest(optimizer.init(small()), x, y).memory.count;
  for (const std::int64_t memory : {least, (least + most) / 2, most}) {
    CompileOptions options = free;
    options.memory = Bytes(memory);
    EXPECT_EQ(run(options), expected) << memory;
  }
}

TEST(Budgets, GiveEveryOptimizersBits) {
  expect_same_bits(Sgd{.lr = cosine({.from = 0.1, .to = 0, .steps = 5})});
  expect_same_bits(Momentum{.nesterov = true});
  expect_same_bits(RmsProp{.momentum = 0.9});
  expect_same_bits(Adam{});
  expect_same_bits(AdamW{.groups = {{.pattern = "*.bias", .lr = 0.1}}});
  expect_same_bits(AdamW8bit{});
  expect_same_bits(Lion{});
  expect_same_bits(Adafactor{});
  expect_same_bits(scale_loss(with_ema(0.9, clip_norm(0.1, AdamW{}))));
}

}  // namespace
}  // namespace tidemark::nn
