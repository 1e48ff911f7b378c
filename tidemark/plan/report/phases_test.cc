#include "tidemark/plan/report/phases.h"

#include <gtest/gtest.h>

#include "tests/support/model_graphs.h"
#include "tests/support/test_target.h"
#include "tidemark/autodiff/forward.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/peak_split.h"

namespace tidemark {
namespace {

int count(const Graph& graph, Phase phase, std::string_view op) {
  const std::vector<Phase> phases = phases_of(graph);
  int found = 0;
  for (std::size_t n = 0; n < phases.size(); ++n)
    found += phases[n] == phase && graph.nodes()[n].op->name == op;
  return found;
}

TEST(Phases, AStepGoesForwardBackwardAndUpdates) {
  const Graph graph = models::mlp(3, 4, 8, true);
  EXPECT_EQ(count(graph, Phase::forward, "tanh"), 3);
  EXPECT_EQ(count(graph, Phase::backward, "tanh"), 0);
  EXPECT_EQ(count(graph, Phase::forward, "reduce_mean"), 1);  // no gradient depends on the loss itself
  EXPECT_EQ(count(graph, Phase::forward, "contract"), 3);
  EXPECT_EQ(count(graph, Phase::backward, "contract"), 5);  // the data have no gradient
  EXPECT_EQ(count(graph, Phase::update, "sqrt"), 6);
  EXPECT_EQ(count(graph, Phase::forward, "sqrt") + count(graph, Phase::backward, "sqrt"), 0);
}

TEST(Phases, WithoutMarksAllIsForwardAndNothingIsAnActivation) {
  Graph graph = models::mlp(3, 64, 32);
  forget_reverse(graph);
  for (const Phase phase : phases_of(graph)) EXPECT_EQ(phase, Phase::forward);
  const PeakSplit split = peak_split(graph, make_plan(graph, test_target()));
  EXPECT_EQ(split.of(PeakRole::activations), 0);
  EXPECT_EQ(split.of(PeakRole::gradients), 0);
  EXPECT_EQ(split.of(PeakRole::parameters), 0);
  EXPECT_GT(split.of(PeakRole::temporaries), 0);
}

TEST(Phases, InputsThatReverseModeWasAskedAboutAreParameters) {
  const Graph graph = models::mlp(3, 64, 32, true);
  const PeakSplit split = peak_split(graph, make_plan(graph, test_target()));
  constexpr std::int64_t parameters = 3 * (32 * 32 + 32) * 4;
  EXPECT_EQ(split.of(PeakRole::parameters), parameters);
  EXPECT_EQ(split.of(PeakRole::moments), 2 * parameters);  // of their shapes, read by updates alone
  EXPECT_EQ(split.of(PeakRole::data), 2 * 64 * 32 * 4);
  EXPECT_GT(split.of(PeakRole::activations), 0);
  EXPECT_GT(split.gradients, 0);
}

TEST(Phases, WhatOnlyUpdatesNeedIsOfTheUpdate) {
  Graph graph;
  Builder build(graph);
  const Var w = build.input({DType::f32, {8}}, "w"), steps = build.input({DType::f32, {}}, "steps");
  const Var loss = reduce_sum(exp(w), {0});
  const std::vector<Var> outputs{loss}, seeds{constant(build, DType::f32, 1)}, inputs{w};
  const Var g = pull_back(build, outputs, seeds, inputs).front();
  const Var next = steps + 1;
  graph.add_output((w - g * broadcast(rsqrt(next), {8})).id());
  graph.add_output(next.id());
  graph.add_output(tanh(loss).id());  // for the caller alone
  EXPECT_EQ(count(graph, Phase::update, "rsqrt"), 1);
  EXPECT_EQ(count(graph, Phase::update, "add"), 1);
  EXPECT_EQ(count(graph, Phase::forward, "tanh"), 1);
  EXPECT_EQ(count(graph, Phase::forward, "exp"), 1);
  EXPECT_TRUE(gradients_of(graph)[g.id().index]);
}

// Of a gradient penalty, the inner gradient is part of what the outer one is of.
TEST(Phases, TheGradientInsideOfALossIsForward) {
  Graph inner;
  {
    Builder build(inner);
    const Var w = build.input({DType::f32, {8}}, "w");
    inner.add_output(reduce_sum(tanh(w), {0}).id());
  }
  const bool wrt[] = {true};
  const Graph once = gradient_graph(inner, wrt);
  EXPECT_TRUE(once.inputs()[0].differentiated);
  Graph penalty;
  Builder build(penalty);
  const Var w = build.input({DType::f32, {8}}, "w");
  const std::vector<Var> found = inline_graph(build, once, std::vector<Var>{w});
  penalty.add_output(reduce_sum(square(found[1]), {0}).id());
  EXPECT_GT(std::ranges::count(phases_of(penalty), Phase::backward), 0);
  const Graph twice = gradient_graph(penalty, wrt);
  const std::vector<Phase> phases = phases_of(twice);
  for (std::size_t n = 0; n < penalty.nodes().size(); ++n) EXPECT_EQ(phases[n], Phase::forward) << n;
  for (std::size_t n = penalty.nodes().size(); n < phases.size(); ++n)
    EXPECT_EQ(phases[n], Phase::backward) << n;
}

// Forward over reverse: a tangent goes where its value goes.
TEST(Phases, TangentsOfAGradientAreBackwardAsItIs) {
  Graph f;
  Builder build(f);
  f.add_output(reduce_sum(tanh(build.input({DType::f32, {8}}, "w")), {0}).id());
  const bool wrt[] = {true};
  const Graph gradient = gradient_graph(f, wrt), hessian = jvp_graph(gradient, wrt);
  EXPECT_TRUE(hessian.inputs()[0].differentiated);
  EXPECT_FALSE(hessian.inputs()[1].differentiated);
  EXPECT_EQ(count(hessian, Phase::forward, "tanh"), 1);
  EXPECT_EQ(std::ranges::count(phases_of(hessian), Phase::update), 0);
  EXPECT_GT(std::ranges::count(phases_of(hessian), Phase::backward),
            std::ranges::count(phases_of(gradient), Phase::backward));
  const std::vector<bool> gradients = gradients_of(hessian);
  EXPECT_TRUE(gradients[hessian.outputs()[1].index]);
  EXPECT_TRUE(gradients[hessian.outputs()[3].index]);
  EXPECT_FALSE(gradients[hessian.outputs()[0].index]);
}

// A step that was let go and is made again reads what it needs for the backward pass's sake.
TEST(Phases, WhatIsReadToComputeAgainIsAnActivationMeanwhile) {
  const Graph graph = models::mlp(8, 256, 64);
  const Plan free = make_plan(graph, test_target());
  const Plan plan = make_plan(graph, test_target(), {.memory = free.peak() * 85 / 100});
  const std::vector<bool> forward = forward_steps(graph, plan);
  const std::vector<Phase> phases = phases_of(graph);
  const auto spans = roles_over_time(graph, plan);
  std::vector<bool> ran(graph.nodes().size(), false);
  int again = 0;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const Step& step = plan.steps[t];
    const bool first = !ran[step.node.index];
    ran[step.node.index] = true;
    EXPECT_EQ(forward[t] && phases[step.node.index] == Phase::forward,
              first && phases[step.node.index] == Phase::forward);
    if (first || phases[step.node.index] != Phase::forward) continue;
    ++again;
    for (const Ref& in : step.in) {
      const Buffer& buffer = plan.buffers[in.buffer.index];
      if (buffer.binding != Binding::arena) continue;
      for (const RoleSpan& span : spans[in.buffer.index]) {
        if (span.begin <= static_cast<std::int32_t>(t) && static_cast<std::int32_t>(t) < span.end)
          EXPECT_NE(span.role, PeakRole::temporaries) << t;
      }
    }
  }
  EXPECT_GT(again, 0);
}

}  // namespace
}  // namespace tidemark
