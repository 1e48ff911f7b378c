// When updates of donated memory run.
#include <gtest/gtest.h>

#include "tests/support/fake_ops.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

using fake::Sketch;

std::ptrdiff_t position(const Graph& graph, const Plan& plan, const Var& v) {
  return std::ranges::find(plan.steps, graph[v.id()].producer, &Step::node) - plan.steps.begin();
}

// Two parameters, two gradients made one after the other, and their updates written down at the end.
struct Training : Sketch {
  Var w1 = input(16, 64, "w", true), w2 = input(16, 64, "w", true), x = input(1, 64);
  Var g2 = node({x, w2}, 16);
  Var back = node({x, w2}, 1);
  Var g1 = node({back, w1}, 16);
  Var half2 = pointwise({g2}), next2 = pointwise({w2, half2});
  Var half1 = pointwise({g1}), next1 = pointwise({w1, half1});
};

TEST(Release, AnUpdateRunsBeforeTheNextGradientIsMade) {
  Training s;
  s.output(s.next1);
  s.output(s.next2);
  const Plan late = make_plan(s.graph, test_target(), {.skip = {"order", "release"}});
  const Plan early = make_plan(s.graph, test_target(), {.skip = {"order"}});
  EXPECT_GT(position(s.graph, late, s.next2), position(s.graph, late, s.g1));
  EXPECT_LT(position(s.graph, early, s.next2), position(s.graph, early, s.g1));
  EXPECT_LT(early.peak(), late.peak());
}

TEST(Release, WhatOthersReadStaysWhereItIs) {
  Training s;
  s.output(s.next1);
  s.output(s.next2);
  s.output(s.node({s.half2, s.g1}, 1));
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"order"}});
  const Plan without = make_plan(s.graph, test_target(), {.skip = {"order", "release"}});
  EXPECT_LE(plan.peak(), without.peak());
}

TEST(Release, AGivenOrderIsKept) {
  Training s;
  s.output(s.next1);
  s.output(s.next2);
  const Plan plan = make_plan(s.graph, test_target(), {.fixed_order = true});
  EXPECT_GT(position(s.graph, plan, s.next2), position(s.graph, plan, s.g1));
}

}  // namespace
}  // namespace tidemark
