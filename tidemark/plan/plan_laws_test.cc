// Laws that every plan of every graph obeys. make_plan itself throws when the verifier objects.
#include <gtest/gtest.h>

#include "tests/support/random_graphs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

using fake::RandomGraph;

TEST(PlanLaws, PlansPassTheVerifierAfterEveryPass) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed, 5 + static_cast<int>(seed % 60));
    PipelineReport report;
    const Plan plan =
        make_plan(random.graph(), test_target(), {.effort = 0.2, .check_every_pass = true}, &report);
    EXPECT_GE(plan.peak(), plan.lower_bound) << seed;
    EXPECT_GE(plan.lower_bound, plan.order_free_bound) << seed;
    EXPECT_LE(plan.peak(), plan.store_all_bytes) << seed;
    EXPECT_LE(plan.peak(), plan.lower_bound * 1.25) << seed;
  }
}

TEST(PlanLaws, AnyChoiceOfPassesGivesAPlan) {
  const std::vector<std::string> names{"views", "donate", "order", "in_place"};
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomGraph random(seed, 40);
    for (unsigned choice = 0; choice < 16; ++choice) {
      PlanOptions options{.effort = 0.1};
      for (unsigned k = 0; k < names.size(); ++k) {
        if (choice >> k & 1) options.skip.push_back(names[k]);
      }
      EXPECT_EQ(problems(random.graph(), make_plan(random.graph(), test_target(), options), test_target()),
                std::vector<std::string>{});
    }
  }
}

TEST(PlanLaws, TheSameGraphGivesTheSamePlan) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomGraph a(seed, 80), b(seed, 80);
    EXPECT_EQ(to_json(make_plan(a.graph(), test_target())), to_json(make_plan(b.graph(), test_target())));
  }
}

TEST(PlanLaws, PlansSurviveJson) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const RandomGraph random(seed, 50);
    const std::string text = to_json(make_plan(random.graph(), test_target(), {.effort = 0.1}));
    const Plan back = plan_from_json(text);
    EXPECT_EQ(to_json(back), text);
    EXPECT_EQ(problems(random.graph(), back, test_target()), std::vector<std::string>{});
  }
}

TEST(PlanLaws, TheOrderSearchCountsWhatThePlanCounts) {
  // With an exact layout the arena is the searched order's load: the bound of the plan is what the search
  // predicted.
  for (unsigned seed = 2; seed < 200; seed += 4) {  // training-shaped
    const RandomGraph random(seed, 200);
    const Plan plan = make_plan(random.graph(), test_target(), {.effort = 0.5});
    const Plan given = make_plan(random.graph(), test_target(), {.skip = {"order"}});
    EXPECT_LE(plan.lower_bound, given.lower_bound) << seed;
    EXPECT_LE(plan.lower_bound, plan.order_free_bound * 1.05) << seed;
  }
}

TEST(PlanLaws, WorkGrowsLinearly) {
  for (int nodes : {500, 2000}) {
    const RandomGraph random(2, nodes);
    PipelineReport report;
    make_plan(random.graph(), test_target(), {}, &report);
    std::int64_t work = 0;
    for (const PassReport& pass : report.passes) work += pass.work_units;
    EXPECT_LE(work, 2400ll * nodes + 1'000'000) << nodes;
  }
}

TEST(PlanLaws, ABudgetIsKeptAndTheReportedFloorCanBePlanned) {
  int recomputed = 0, infeasible = 0;
  for (unsigned seed = 0; seed < seeds(120); ++seed) {
    const RandomGraph random(seed, 5 + static_cast<int>(seed % 60));
    const Plan free = make_plan(random.graph(), test_target(), {.effort = 0.005});
    for (double part : {1.0, 0.8, 0.5, 0.0}) {
      const auto memory =
          free.input_bytes + static_cast<std::int64_t>(static_cast<double>(free.arena_bytes) * part);
      const Result<Plan, Infeasible> result =
          try_plan(random.graph(), test_target(), {.memory = memory, .effort = 0.005});
      if (result) {
        EXPECT_LE(result.value().peak(), memory) << seed;
        recomputed += result.value().steps.size() > free.steps.size();
        continue;
      }
      ++infeasible;
      const std::int64_t smallest = result.error().smallest.peak();
      EXPECT_GT(smallest, memory) << seed;
      EXPECT_TRUE(try_plan(random.graph(), test_target(), {.memory = smallest, .effort = 0.005})) << seed;
    }
  }
  EXPECT_GT(recomputed, few ? -1 : 20);
  EXPECT_GT(infeasible, few ? -1 : 60);
}

}  // namespace
}  // namespace tidemark
