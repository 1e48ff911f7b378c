#include "tidemark/optim/adamw8bit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Net {
  Tensor first, bias, second;
  TM_FIELDS(Net, first, bias, second)
};
Net net(std::int64_t seed) {
  const std::vector<Tensor> keys = split_key(key(seed), 2);
  return {random_normal(keys[0], {8, 64}, 0, 0.5), zeros({64}), random_normal(keys[1], {64, 3}, 0, 0.2)};
}
Tensor out(const Net& n, const Tensor& x) { return matmul(tanh(matmul(x, n.first) + n.bias), n.second); }
Tensor loss(const Net& n, Tensor x, Tensor y) { return mean(square(out(n, x) - y)); }

// After so many batches of what another network says.
template <class Optimizer>
double trained(const Optimizer& optimizer, std::int64_t seed, int steps) {
  const Net teacher = net(100);
  const auto batch = [&](std::int64_t k, std::int64_t size) {
    return random_normal(key(1000 + k), {size, 8});
  };
  const auto train = compile(step(optimizer, loss), {.donate = {0}});
  auto state = optimizer.init(net(seed));
  for (int t = 0; t < steps; ++t) {
    const Tensor x = batch(t, 32);
    state = train(state, x, out(teacher, x)).first;
  }
  const Tensor x = batch(-1, 1024);
  return loss(state.parameters, x, out(teacher, x)).item();
}

TEST(AdamW8bit, TrainsAsAdamWDoesWithinNoise) {
  const Schedule lr = cosine({.from = 1e-2, .to = 1e-3, .steps = 400});
  double plain = 0, small = 0, least = 1e9, most = 0;
  for (const std::int64_t seed : {1, 2, 3}) {
    const double one = trained(AdamW{.lr = lr}, seed, 400);
    plain += one / 3, least = std::min(least, one), most = std::max(most, one);
    small += trained(AdamW8bit{.lr = lr}, seed, 400) / 3;
  }
  const double untrained = trained(AdamW{.lr = 0}, 1, 1);
  EXPECT_LT(plain, untrained / 10);
  EXPECT_NEAR(small, plain, std::max(most - least, plain / 4)) << "of networks that begin elsewhere";
}

TEST(AdamW8bit, ItsStateIsAByteAndAThirtySecondPerNumberAndMoment) {
  const AdamW8bit optimizer;
  const std::vector<Tensor> parameters = {zeros({1024, 256}), zeros({300}), zeros({}, DType::f64),
                                          zeros({128}, DType::bf16), zeros({0, 4})};
  const auto state = optimizer.init(parameters);
  const std::int64_t bytes[] = {1024 * 256 / 128 * 132, 300 + 3 * 4, 8 + 1, 128 + 4, 0};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(state.mean[i].type(), (Type{DType::u8, {bytes[i]}})) << i;
    EXPECT_EQ(state.variance[i].type(), state.mean[i].type()) << i;
  }
}

TEST(AdamW8bit, TheFirstStepIsThatOfAdamW) {
  const std::vector<Tensor> start = {random_normal(key(1), {70000}), random_normal(key(2), {3, 5}),
                                     cast(random_normal(key(3), {40}), DType::bf16), zeros({0})};
  const auto slope = [](const std::vector<Tensor>& w) {
    return sum(square(w[0])) + sum(w[1]) + sum(square(cast(w[2], DType::f32))) + sum(w[3]);
  };
  const auto run = [&](const auto& optimizer) {
    return compile(step(optimizer, slope))(optimizer.init(start)).first.parameters;
  };
  const auto plain = run(AdamW{.lr = 0.01}), small = run(AdamW8bit{.lr = 0.01});
  for (std::size_t i = 0; i < start.size(); ++i) {
    EXPECT_EQ(small[i].type(), start[i].type());
    EXPECT_EQ(small[i].to_vector(), plain[i].to_vector());
  }
}

// Gradients of one block, each so much smaller than the one before, over so many powers of ten: where numbers
// are after 100 updates at a rate of 0.001.
std::vector<double> moved(double powers) {
  const AdamW8bit optimizer{.lr = 1e-3, .weight_decay = 0};
  std::vector<float> slopes(128);
  for (std::size_t i = 0; i < slopes.size(); ++i)
    slopes[i] = static_cast<float>(std::pow(10, -powers * static_cast<double>(i) / 127));
  const Tensor factor = tensor(slopes, {128});
  const auto train =
      compile(step(optimizer, [&](const Tensor& w) { return sum(w * factor); }), {.donate = {0}});
  auto state = optimizer.init(zeros({128}));
  for (int t = 0; t < 100; ++t) state = train(state).first;
  return state.parameters.to_vector();
}

TEST(AdamW8bit, SmallGradientsBesideLargeOnesMoveAboutAsFar) {
  double sum = 0;
  for (const double w : moved(4)) {
    EXPECT_LT(w, -0.05);
    EXPECT_GT(w, -0.2);
    sum += w;
  }
  EXPECT_NEAR(sum / 128, -0.1, 0.015);
}

TEST(AdamW8bit, WhereTheVarianceIsLostStepsStayShort) {
  for (const double w : moved(30)) EXPECT_LE(std::abs(w), 0.1 * 3.3);
}

TEST(AdamW8bit, WhatIsNoNumberStaysWhereItIsAndARunRepeatsToTheBit) {
  const AdamW8bit optimizer{.lr = 0.1};
  const auto train = compile(step(optimizer, [](const Tensor& w, Tensor c) { return sum(w * c); }));
  std::vector<float> slopes(256, 1);
  slopes[5] = std::numeric_limits<float>::quiet_NaN();
  const Tensor c = tensor(slopes, {256});
  const auto run = [&] {
    auto state = optimizer.init(zeros({256}));
    for (int t = 0; t < 3; ++t) state = train(state, c).first;
    return state.parameters.to_vector();
  };
  const std::vector<double> once = run(), again = run();
  EXPECT_TRUE(std::isnan(once[5]));
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (i == 5) continue;
    EXPECT_NEAR(once[i], -0.3, 0.03);
    EXPECT_EQ(once[i], again[i]);
  }
}

}  // namespace
}  // namespace tidemark::optim
