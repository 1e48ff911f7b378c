// Spilling on small plans whose best is known.
#include "tidemark/plan/spill/spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/test_target.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

constexpr std::int64_t large = 1 << 20;  // elements

// a = tanh x waits while `between` sines are taken one after the other, and is multiplied to the last.
Graph waiting(int between, std::int64_t elements = large) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {elements}});
  const Var a = tanh(x);
  Var b = exp(x);
  for (int i = 0; i < between; ++i) b = sin(b);
  graph.add_output((a * b).id());
  return graph;
}

const PlanOptions in_order{.fixed_order = true, .skip = {"fuse", "remat"}};

Machine with_disk(double bytes_a_second) {
  Machine machine = reference_machine();
  machine.further = {{.name = "disk", .bytes = std::int64_t{1} << 40}};
  machine.links = {{.from = 0, .to = 1, .bandwidth = bytes_a_second, .beside_compute = bytes_a_second},
                   {.from = 1, .to = 0, .bandwidth = bytes_a_second, .beside_compute = bytes_a_second}};
  return machine;
}

Plan spilled(const Graph& graph, const Plan& plain, std::int64_t memory, const Machine& machine,
             std::int64_t disk = std::int64_t{1} << 40) {
  const Plan plan =
      spill(graph, plain, test_target(),
            {.memory = memory, .machine = &machine, .tiers = tiers_of(machine, {{"disk", disk}})});
  EXPECT_THAT(problems(graph, plan, test_target()), ::testing::IsEmpty()) << to_text(graph, plan);
  return plan;
}

double seconds_of_kernels(const Graph& graph, const Plan& plan, const Machine& machine) {
  double sum = 0;
  for (const KernelCost& kernel : kernel_costs(graph, plan, test_target(), machine)) sum += kernel.seconds;
  return sum;
}

TEST(Spilling, ACopyThatHidesBehindComputingCostsNothing) {
  const Graph graph = waiting(12);
  const Plan plain = make_plan(graph, test_target(), in_order);
  const Machine machine = with_disk(1e12);
  // x, b in place and a: without a while b is computed, one buffer less.
  const std::int64_t budget = plain.input_bytes + 4 * large;
  ASSERT_GT(plain.peak(), budget);
  const Plan plan = spilled(graph, plain, budget + 4 * large / 2, machine);
  // Where a and b meet both are there: that is what is least.
  EXPECT_EQ(plan.peak(), plain.peak());
  EXPECT_LE(plan.seconds, seconds_of_kernels(graph, plain, machine) * (1 + 1e-9));
}

// a and c wait; both return only for a product of two at a time.
Graph two_waiting(int between) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {large}});
  const Var a = tanh(x), c = cos(x);
  Var b = exp(x);
  for (int i = 0; i < between; ++i) b = sin(b);
  b = b * a;
  for (int i = 0; i < between; ++i) b = sin(b);
  b = b * c;
  graph.add_output(b.id());
  return graph;
}

TEST(Spilling, WhatWaitsLeavesAndReturns) {
  const Graph graph = two_waiting(8);
  const Plan plain = make_plan(graph, test_target(), in_order);
  ASSERT_EQ(plain.arena_bytes, 3 * 4 * large);
  const std::int64_t budget = plain.input_bytes + 2 * 4 * large;
  for (const double rate : {1e12, 4e9, 1e9}) {
    const Machine machine = with_disk(rate);
    const Plan plan = spilled(graph, plain, budget, machine);
    EXPECT_LE(plan.peak(), budget) << rate;
    // One of the two is enough; where copies cost nothing both may go.
    EXPECT_GE(plan.further.at(0).arena_bytes, 4 * large) << rate;
    EXPECT_GE(std::ranges::count(plan.steps, StepKind::copy, &Step::kind), 2) << rate;
    // The copies out cannot begin before what they copy is there and b needs the room at once: a stall of one
    // copy; the way back hides behind the sines if it is as fast as they are.
    const double kernels = seconds_of_kernels(graph, plain, machine), copy = 4.0 * large / rate;
    EXPECT_LE(plan.seconds, kernels + 2 * copy + 1e-9) << rate;
    EXPECT_GE(plan.seconds, kernels) << rate;
  }
}

TEST(Spilling, ADiskTooSmallIsNotUsedBeyondItsBudget) {
  const Graph graph = two_waiting(8);
  const Plan plain = make_plan(graph, test_target(), in_order);
  const Machine machine = with_disk(4e9);
  const std::int64_t budget = plain.input_bytes + 2 * 4 * large;
  const Plan plan = spilled(graph, plain, budget, machine, 4 * large - 1);
  EXPECT_GT(plan.peak(), budget);
  EXPECT_LE(plan.further.empty() ? 0 : plan.further[0].arena_bytes, 4 * large - 1);
}

TEST(Spilling, OfNothingIsTheSamePlan) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {8}});
  graph.add_output(x.id());
  const Plan plain = make_plan(graph, test_target());
  const Plan plan = spilled(graph, plain, 0, with_disk(1e9));
  EXPECT_EQ(plan.steps.size(), 0u);
  EXPECT_EQ(plan.peak(), plain.peak());
}

}  // namespace
}  // namespace tidemark
