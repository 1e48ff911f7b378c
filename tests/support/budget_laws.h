// What every plan within a budget promises, asked of one graph at budgets from below the smallest to more
// than enough.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/support/test_target.h"
#include "tidemark/ir/effects.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::testing {

struct BudgetTally {
  int graphs = 0, plans = 0, recomputing = 0;
  int below_smallest = 0;    // graphs with a plan below the smallest budget that was reported
  int slower_with_more = 0;  // a larger budget took longer
  int higher_with_less = 0;  // a smaller budget had the higher peak
  std::string examples;      // the first few
};

struct BudgetLaws {
  int budgets = 3;  // between the smallest and the unconstrained peak
  double effort = 0.02;
  bool fixed_order = false;
  bool exact =
      false;  // small enough to be solved to the end: the smallest budget is, and more never takes longer
};

namespace detail {

// Nodes that may run only once do.
inline void expect_no_forbidden_repeats(const Graph& graph, const Plan& plan, const std::string& what) {
  std::map<std::uint32_t, int> runs;
  for (const Step& step : plan.steps) ++runs[step.node.index];
  for (const auto& [node, count] : runs) {
    if (!is_repeatable(graph[NodeId(node)])) {
      EXPECT_EQ(count, 1) << what << ": " << graph[NodeId(node)].op->name;
    }
  }
}

}  // namespace detail

// Stops at the first law that is broken; try_plan itself throws where the verifier objects.
inline void expect_budget_laws(const Graph& graph, const std::string& name, const BudgetLaws& laws,
                               BudgetTally& tally) {
  constexpr double rounding = 1e-9;
  const auto planned = [&](std::int64_t memory) {
    ++tally.plans;
    return try_plan(graph, test_target(),
                    {.memory = memory, .fixed_order = laws.fixed_order, .effort = laws.effort});
  };
  ++tally.graphs;
  const Plan free = make_plan(graph, test_target(), {.fixed_order = laws.fixed_order, .effort = laws.effort});
  if (free.arena_bytes == 0) return;

  const Result<Plan, Infeasible> none = planned(free.input_bytes);
  ASSERT_FALSE(none) << name;
  const std::int64_t floor = none.error().smallest.peak();
  ASSERT_LE(floor, free.peak()) << name << ": the smallest is above the unconstrained peak";
  ASSERT_LE(none.error().smallest.order_free_bound, floor) << name;
  const Result<Plan, Infeasible> below = planned(floor - 1);
  if (below && !laws.exact) {
    ++tally.below_smallest;
    tally.examples += fmt::format("{}: {} after a smallest of {}\n", name, below.value().peak(), floor);
  } else {
    ASSERT_FALSE(below) << name << ": " << floor - 1 << " is below the smallest, " << floor
                        << ", and has a plan";
    ASSERT_EQ(below.error().smallest.peak(), floor) << name << ": two smallest budgets";
  }

  double fastest = std::numeric_limits<double>::infinity();  // of the plans so far
  std::int64_t highest = 0;
  for (int k = 0; k <= laws.budgets + 1; ++k) {
    const std::int64_t budget = floor + (free.peak() - floor) * k / (laws.budgets + 1);
    const std::string what = fmt::format("{}, budget {} of {}..{}, {} order", name, budget, floor,
                                         free.peak(), laws.fixed_order ? "fixed" : "free");
    const Result<Plan, Infeasible> result = planned(budget);
    ASSERT_TRUE(result) << what << ": infeasible, smallest " << result.error().smallest.peak();
    const Plan& plan = result.value();
    tally.recomputing += plan.steps.size() > free.steps.size();
    ASSERT_LE(plan.peak(), budget) << what;
    ASSERT_EQ(plan.budget, budget) << what;
    ASSERT_LE(plan.lower_bound, plan.peak()) << what;
    ASSERT_LE(plan.order_free_bound, plan.lower_bound) << what;
    if (plan.steps.size() > free.steps.size()) {  // without recomputation the bound is one without
      ASSERT_LE(plan.order_free_bound, floor) << what << ": a bound above a plan that exists";
    }
    ASSERT_GE(plan.seconds, plan.least_seconds * (1 - rounding)) << what;
    ASSERT_LE(plan.seconds_bound, plan.seconds * (1 + rounding)) << what;
    ASSERT_GE(plan.seconds_bound, plan.least_seconds * (1 - rounding)) << what;
    // Plans of smaller budgets are within this one, too.
    ASSERT_LE(plan.seconds_bound, fastest * (1 + rounding)) << what << ": a bound above a plan that exists";
    detail::expect_no_forbidden_repeats(graph, plan, what);
    if (budget == free.peak()) {
      ASSERT_NEAR(plan.seconds, plan.least_seconds, rounding * plan.seconds) << what;
    }
    const bool slower = plan.seconds > fastest * (1 + rounding), lower = plan.peak() < highest;
    if (laws.exact) {
      ASSERT_FALSE(slower) << what << ": " << plan.seconds << " s, with less memory " << fastest;
    }
    tally.slower_with_more += slower;
    tally.higher_with_less += lower;
    if ((slower || lower) && tally.examples.size() < 1000) {
      tally.examples += fmt::format("{}: {:.9g} s after {:.9g}, peak {} after {}\n", what, plan.seconds,
                                    fastest, plan.peak(), highest);
    }
    fastest = std::min(fastest, plan.seconds);
    highest = std::max(highest, plan.peak());
  }
}

}  // namespace tidemark::testing
