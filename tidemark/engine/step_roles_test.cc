// What the memory of a compiled function holds follows from what it computes, not from what things are
// called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/phases.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;

Tensor net(const std::vector<Tensor>& weights, Tensor x) {
  for (const Tensor& w : weights) x = tanh(matmul(x, w));
  return mean(square(x));
}
const std::vector<Tensor> weights(4, eye(32) * 0.9);
const Tensor x = ones({256, 32});
constexpr std::int64_t weight_bytes = 4 * 32 * 32 * 4, x_bytes = 256 * 32 * 4;

PeakSplit split_of(const PlannedGraph& planned) { return peak_split(planned.graph, planned.plan); }
std::int64_t count(const PlannedGraph& planned, Phase phase) {
  return std::ranges::count(phases_of(planned.graph), phase);
}

void expect_training(const PlannedGraph& planned) {
  const PeakSplit split = split_of(planned);
  EXPECT_EQ(split.of(PeakRole::parameters), weight_bytes);
  EXPECT_EQ(split.of(PeakRole::data), x_bytes);
  EXPECT_GE(split.of(PeakRole::activations), 2 * x_bytes);
  EXPECT_GT(count(planned, Phase::forward), 0);
  EXPECT_GT(count(planned, Phase::backward), 0);
  int gradients = 0;
  for (const bool leaves : gradients_of(planned.graph)) gradients += leaves;
  EXPECT_EQ(gradients, 4);
}

TEST(StepRoles, OfAValueAndItsGradients) {
  const auto step = compile(value_and_grad(net));
  expect_training(step.prepare(weights, x));
  EXPECT_EQ(count(step.plan(), Phase::update), 0);
  EXPECT_TRUE(split_of(step.plan()).all_returned);
  EXPECT_THAT(step.plan().summary(), HasSubstr("they are results, for the caller"));
}

TEST(StepRoles, OfGradientsAloneTheLossIsNotNeeded) {
  const auto step = compile(grad(net));
  expect_training(step.prepare(weights, x));
}

TEST(StepRoles, OfAnUpdateWrittenByHand) {
  const auto step = compile([](std::vector<Tensor> w, const Tensor& in) {
    const auto [loss, g] = value_and_grad(net)(w, in);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - 0.1 * g[i];
    return std::pair(w, loss);
  });
  const PlannedGraph planned = step.prepare(weights, x);
  expect_training(planned);
  EXPECT_GT(count(planned, Phase::update), 0);
  EXPECT_FALSE(split_of(planned).all_returned);
  EXPECT_THAT(planned.summary(), HasSubstr("each until its parameter's update"));
}

TEST(StepRoles, OfMomentsKeptByHand) {
  const auto step = compile([](std::vector<Tensor> w, std::vector<Tensor> m, const Tensor& in) {
    const auto g = grad(net)(w, in);
    for (std::size_t i = 0; i < w.size(); ++i) m[i] = 0.9 * m[i] + g[i], w[i] = w[i] - 0.1 * m[i];
    return std::pair(w, m);
  });
  const PlannedGraph planned = step.prepare(weights, weights, x);
  expect_training(planned);
  EXPECT_EQ(split_of(planned).of(PeakRole::moments), weight_bytes);
}

TEST(StepRoles, OfPullbacksOfSeveralResults) {
  const auto step = compile([](const std::vector<Tensor>& w, const Tensor& in) {
    const auto two = [&](const std::vector<Tensor>& v) {
      return std::pair(net(v, in), mean(matmul(in, v[0])));
    };
    const auto [values, pullback] = vjp(two, w);
    return std::pair(values, pullback(std::pair(ones({}), ones({}) * 3)));
  });
  expect_training(step.prepare(weights, x));
}

TEST(StepRoles, OfAHessianTimesAVector) {
  const auto step = compile([](const std::vector<Tensor>& w, const std::vector<Tensor>& v, const Tensor& in) {
    return hvp([&](const std::vector<Tensor>& at) { return net(at, in); }, w, v);
  });
  const PlannedGraph planned = step.prepare(weights, weights, x);
  EXPECT_EQ(split_of(planned).of(PeakRole::parameters), weight_bytes);
  EXPECT_GT(split_of(planned).of(PeakRole::activations), 0);
  EXPECT_GT(count(planned, Phase::forward), 0);
  EXPECT_EQ(count(planned, Phase::update), 0);
}

TEST(StepRoles, WithoutADerivativeNothingIsStoredForOne) {
  const auto forward = compile(net);
  const auto tangent = compile([](const std::vector<Tensor>& w, const Tensor& in) {
    return jvp([&](const std::vector<Tensor>& at) { return net(at, in); }, w, w).second;
  });
  for (const PlannedGraph& planned : {forward.prepare(weights, x), tangent.prepare(weights, x)}) {
    const PeakSplit split = split_of(planned);
    EXPECT_EQ(split.of(PeakRole::activations) + split.of(PeakRole::gradients), 0);
    EXPECT_EQ(split.of(PeakRole::parameters), 0);
    EXPECT_EQ(split.of(PeakRole::data), weight_bytes + x_bytes);
    EXPECT_EQ(count(planned, Phase::forward), std::ssize(planned.graph.nodes()));
    for (const ExplainedValue& value : planned.explain({.top = 0}).values) EXPECT_FALSE(value.crosses);
  }
}

TEST(StepRoles, OfALoopThatIsReversed) {
  const auto looped = [](const Tensor& w, const Tensor& in) {
    return mean(square(repeat(
        6, [&](const Tensor& h) { return tanh(matmul(h, w)); }, in)));
  };
  const auto step = compile(value_and_grad(looped));
  const PlannedGraph planned = step.prepare(weights[0], x);
  const PeakSplit split = split_of(planned);
  EXPECT_EQ(split.of(PeakRole::parameters), 32 * 32 * 4);
  EXPECT_GE(split.of(PeakRole::activations), 6 * x_bytes);  // the states
  EXPECT_EQ(std::ranges::count(gradients_of(planned.graph), true), 1);
  // Of the reverse of a step, what is written by rules is marked too.
  bool inside = false;
  for (const Node& node : planned.graph.nodes()) {
    for (const Graph& body : node.regions) {
      if (!node.backward) continue;
      inside = inside || std::ranges::any_of(body.nodes(), &Node::backward);
    }
  }
  EXPECT_TRUE(inside);
}

TEST(StepRoles, OfMicroBatches) {
  const auto step = compile(value_and_grad(net), {.accumulate = 4});
  const PlannedGraph planned = step.prepare(weights, x);
  const PeakSplit split = split_of(planned);
  EXPECT_EQ(split.of(PeakRole::parameters), weight_bytes);
  EXPECT_EQ(split.of(PeakRole::data), x_bytes);
  EXPECT_EQ(std::ranges::count(gradients_of(planned.graph), true), 4);
  EXPECT_GT(split.of(PeakRole::gradients), 0);
}

// Two derivatives in one step: what the first one's update has to do with the second one's loss is forward.
TEST(StepRoles, OfTwoDerivativesInTurn) {
  const auto step = compile([](std::vector<Tensor> w, std::vector<Tensor> v, const Tensor& in) {
    const auto g = grad(net)(w, in);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - 0.1 * g[i];
    const auto second = [&](const std::vector<Tensor>& at) { return net(at, matmul(in, w[0])); };
    const auto h = grad(second)(v);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = v[i] - 0.1 * h[i];
    return std::pair(w, v);
  });
  const PlannedGraph planned = step.prepare(weights, weights, x);
  const PeakSplit split = split_of(planned);
  EXPECT_EQ(split.of(PeakRole::parameters), 2 * weight_bytes);
  EXPECT_EQ(std::ranges::count(gradients_of(planned.graph), true), 8);
  const std::vector<Phase> phases = phases_of(planned.graph);
  int forward = 0;
  for (std::size_t n = 0; n < phases.size(); ++n)
    forward += phases[n] == Phase::forward && planned.graph.nodes()[n].op->name == "tanh";
  EXPECT_EQ(forward, 8);
}

}  // namespace
}  // namespace tidemark
