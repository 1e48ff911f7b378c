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

// Moments in codes: decoded, moved on, coded again, by kernels that join no others.
struct TrainingInCodes : Sketch {
  Var w1 = input(16, 64, "w", true), w2 = input(16, 64, "w", true), x = input(2, 64);
  Var m1 = input(4, 64, "m", true), m2 = input(4, 64, "m", true);
  Var g2 = node({x, w2}, 16);
  Var back = node({x, w2}, 2);
  Var g1 = node({back, w1}, 16);
  Var mean2 = pointwise({node({m2}, 16), g2}), codes2 = node({mean2}, 4), next2 = pointwise({w2, mean2});
  Var mean1 = pointwise({node({m1}, 16), g1}), codes1 = node({mean1}, 4), next1 = pointwise({w1, mean1});
  TrainingInCodes() {
    for (const Var& v : {next1, next2, codes1, codes2}) output(v);
  }
};

TEST(Release, AnUpdateThroughCodesRunsBeforeTheNextGradientIsMade) {
  TrainingInCodes s;
  const Plan late = make_plan(s.graph, test_target(), {.skip = {"order", "release"}});
  const Plan early = make_plan(s.graph, test_target(), {.skip = {"order"}});
  for (const Var& last : {s.next2, s.codes2}) {
    EXPECT_GT(position(s.graph, late, last), position(s.graph, late, s.g1));
    EXPECT_LT(position(s.graph, early, last), position(s.graph, early, s.g1));
  }
  EXPECT_LT(early.peak(), late.peak());
}

// One update is half done before the peak, where it has no use for the rate yet that the other half and the
// other update read.
struct TrainingAtARate : Sketch {
  Var w1, w2, x = input(2, 64);
  Var g2, back, half2, high, g1, rate, next2, next1;
  explicit TrainingAtARate(std::int64_t peak_rows)
      : w1(input(16, 64, "w", true)),
        w2(input(16, 64, "w", true)),
        g2(node({x, w2}, 16)),
        back(node({x, w2}, 2)),
        half2(pointwise({w2, g2})),
        high(node({node({back}, peak_rows)}, 2)),
        g1(node({high, w1}, 16)),
        rate(node({}, 1)),
        next2(pointwise({half2, rate})),
        next1(pointwise({w1, g1, rate})) {
    output(next1);
    output(next2);
  }
};

TEST(Release, ARateThatUpdatesShareMayLiftALargePeakByItsBytes) {
  TrainingAtARate s(1 << 20);
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"order", "duplicate"}});
  const Plan without = make_plan(s.graph, test_target(), {.skip = {"order", "duplicate", "release"}});
  EXPECT_LT(position(s.graph, plan, s.next2), position(s.graph, plan, s.g1));
  EXPECT_GT(position(s.graph, without, s.next2), position(s.graph, without, s.g1));
  EXPECT_LE(plan.peak(), without.peak() + 64);
}

TEST(Release, NoRateLiftsASmallPeak) {
  TrainingAtARate s(64);
  const Plan plan = make_plan(s.graph, test_target(), {.skip = {"order", "duplicate"}});
  const Plan without = make_plan(s.graph, test_target(), {.skip = {"order", "duplicate", "release"}});
  EXPECT_GT(position(s.graph, plan, s.next2), position(s.graph, plan, s.g1));
  EXPECT_EQ(plan.peak(), without.peak());
}

}  // namespace
}  // namespace tidemark
