// How much work a budget takes: counted, since a clock would measure the machine.
#include "tidemark/plan/passes/budget_search.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/model_graphs.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

// In units of about a microsecond, over all passes.
std::int64_t work_in(const PipelineReport& report) {
  std::int64_t units = 0;
  for (const PassReport& pass : report.passes) units += pass.work_units;
  return units;
}

struct Case {
  const char* name;
  Graph graph;
};
std::vector<Case> small_programs() {
  return {{"mlp", models::mlp(4, 64, 32)},
          {"mlp with Adam", models::mlp(3, 64, 32, true)},
          {"mlp of 16 layers", models::mlp(16, 64, 32)}};
}

// All passes together, each in units of its own of at most a microsecond. A search without regard to the size
// of the problem took ten and more times that.
TEST(BudgetSearch, TakesLittleWorkForSmallPrograms) {
  for (const Case& program : small_programs()) {
    const Plan free = make_plan(program.graph, test_target());
    ASSERT_LE(free.steps.size(), 300u) << program.name;
    for (int percent : {95, 85, 75}) {
      PipelineReport report;
      const Result<Plan, Infeasible> planned =
          try_plan(program.graph, test_target(), {.memory = free.peak() * percent / 100}, &report);
      EXPECT_LT(work_in(report), planned ? 2'000'000 : 5'000'000)
          << program.name << " at " << percent << "%, " << free.steps.size() << " steps";
    }
    PipelineReport report;
    EXPECT_FALSE(try_plan(program.graph, test_target(), {.memory = 0}, &report));
    EXPECT_LT(work_in(report), 5'000'000) << program.name << ", floor";
  }
}

TEST(BudgetSearch, TakesWorkInProportionToTheEffortAndTheSteps) {
  EXPECT_LE(BudgetSearch::units_for(300, 1), 350'000);
  EXPECT_EQ(BudgetSearch::units_for(300, 10), 10 * BudgetSearch::units_for(300, 1));
  EXPECT_LE(BudgetSearch::units_for(100'000, 1), 15'000'000);
  EXPECT_GE(BudgetSearch::units_for(1, 1e-9), 1);
}

TEST(BudgetSearch, ReportsASmallestBudgetThatCanBePlannedFor) {
  for (const Case& program : small_programs()) {
    const Plan smallest = smallest_plan(program.graph, test_target());
    const Result<Plan, Infeasible> planned =
        try_plan(program.graph, test_target(), {.memory = smallest.peak()});
    ASSERT_TRUE(planned) << program.name;
    EXPECT_LE(planned.value().peak(), smallest.peak());
    const Result<Plan, Infeasible> below =
        try_plan(program.graph, test_target(), {.memory = smallest.order_free_bound - 1});
    ASSERT_FALSE(below) << program.name;
    EXPECT_EQ(below.error().smallest.peak(), smallest.peak()) << program.name;
  }
}

TEST(BudgetSearch, SkipsTheSmallestBudgetWhereNobodyAsks) {
  const Graph graph = models::mlp(8, 64, 32);
  PipelineReport with, without;
  EXPECT_FALSE(try_plan(graph, test_target(), {.memory = 0}, &with));
  EXPECT_FALSE(try_plan(graph, test_target(), {.memory = 0, .floor = false}, &without));
  EXPECT_LT(work_in(without), work_in(with));
}

// A clock of the test's own: each look at it takes a tenth of the time there is.
TEST(TimedPlanning, EndsSoonAfterItsTimeIsUpWithAPlanThatFits) {
  const Graph graph = models::mlp(16, 64, 32);
  const std::int64_t budget = make_plan(graph, test_target()).peak() * 95 / 100;
  double now = 0;
  SearchControl control({.seconds = 1, .clock = [&] { return now += 0.1; }});
  const Result<Plan, Infeasible> planned =
      try_plan(graph, test_target(), {.memory = budget, .control = &control});
  ASSERT_TRUE(planned);
  EXPECT_LE(planned.value().peak(), budget);
  EXPECT_GE(now, 1);
  const std::int64_t looks = control.looks();
  EXPECT_LT(looks, 200);
  SearchControl slow({.seconds = 1000, .clock = [&] { return now += 0.1; }});
  const Result<Plan, Infeasible> longer =
      try_plan(graph, test_target(), {.memory = budget, .control = &slow});
  ASSERT_TRUE(longer);
  EXPECT_LE(longer.value().seconds, planned.value().seconds);
  EXPECT_GT(slow.looks(), looks);
}

TEST(TimedPlanning, IsTheSamePlanWhetherOrNotSomebodyWatches) {
  const Graph graph = models::mlp(6, 64, 32);
  const std::int64_t budget = make_plan(graph, test_target()).peak() * 90 / 100;
  SearchControl control({.progress = [](const PlanProgress&) { return true; }});
  const auto watched = try_plan(graph, test_target(), {.memory = budget, .control = &control});
  const auto alone = try_plan(graph, test_target(), {.memory = budget});
  ASSERT_EQ(watched.ok(), alone.ok());
  if (!alone) GTEST_SKIP();
  EXPECT_EQ(executions_of(watched.value()), executions_of(alone.value()));
  EXPECT_EQ(watched.value().arena_bytes, alone.value().arena_bytes);
}

TEST(StoppedPlanning, EndsWhereverItIsAsked) {
  const Graph graph = models::mlp(8, 64, 32);
  int all = 0;
  SearchControl counting({.progress = [&](const PlanProgress&) { return ++all > 0; }});
  EXPECT_FALSE(try_plan(graph, test_target(), {.memory = 0, .control = &counting}));
  ASSERT_GT(all, 5);
  for (int stop_at = 1; stop_at <= all; stop_at += std::max(1, all / 7)) {
    int calls = 0;
    SearchControl control({.progress = [&](const PlanProgress&) { return ++calls < stop_at; }});
    EXPECT_THROW((void)try_plan(graph, test_target(), {.memory = 0, .control = &control}), PlanningStopped);
    EXPECT_EQ(calls, stop_at);
  }
}

TEST(StoppedPlanning, TellsItsProgressInOneDirection) {
  const Graph graph = models::mlp(8, 64, 32);
  std::vector<double> seen;
  std::vector<std::string> stages;
  SearchControl control({.progress = [&](const PlanProgress& p) {
    seen.push_back(p.done);
    if (stages.empty() || stages.back() != p.stage) stages.emplace_back(p.stage);
    return true;
  }});
  EXPECT_FALSE(try_plan(graph, test_target(), {.memory = 0, .control = &control}));
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_GE(seen.front(), 0);
  EXPECT_LT(seen.back(), 1);
  EXPECT_EQ(stages.back(), "floor");
}

}  // namespace
}  // namespace tidemark
