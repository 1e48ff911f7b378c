// Planning with some solvers of the portfolio left out: plans are as sound as any, and the report says who
// did what.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/budget_graphs.h"
#include "tests/support/model_graphs.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {
namespace {

constexpr double little = 0.02;  // effort

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const SolverInfo& solver : solver_list()) names.emplace_back(solver.name);
  return names;
}

std::int64_t budget_at(const Plan& free, int percent) {
  return free.input_bytes + free.arena_bytes * percent / 100;
}

// Both kinds of answer are verified plans, and what is reported as the smallest budget can be planned for.
void expect_sound(const Graph& graph, const PlanOptions& options, double seconds_bound) {
  PipelineReport report;
  const Result<Plan, Infeasible> result = try_plan(graph, test_target(), options, &report);
  if (result) {
    EXPECT_LE(result.value().peak(), *options.memory);
    EXPECT_GE(result.value().seconds, seconds_bound * (1 - 1e-9));
  } else {
    EXPECT_GT(result.error().smallest.peak(), *options.memory);
    PlanOptions smallest = options;
    smallest.memory = result.error().smallest.peak();
    EXPECT_TRUE(try_plan(graph, test_target(), smallest));
  }
  std::int64_t work = 0;
  for (std::size_t row = 0; row < report.solvers.size(); ++row) {
    const SolverRecord& solver = report.solvers[row];
    EXPECT_EQ(solver.chosen, options.solvers.has(row));
    EXPECT_TRUE(solver.chosen || solver.runs == 0) << solver.name;
    work += solver.work_units;
  }
  const auto remat = std::ranges::find(report.passes, "remat", &PassReport::name);
  ASSERT_NE(remat, report.passes.end());
  EXPECT_EQ(work, remat->work_units);
}

void expect_sound_whoever_is_left_out(const Graph& graph) {
  const Plan free = make_plan(graph, test_target(), {.effort = little});
  for (int percent : {85, 60}) {
    PlanOptions options{.memory = budget_at(free, percent), .effort = little};
    const Result<Plan, Infeasible> all = try_plan(graph, test_target(), options);
    const double bound = all ? all.value().seconds_bound : 0;
    for (const std::string& name : solver_names()) {
      SCOPED_TRACE(fmt::format("{} at {}%", name, percent));
      options.solvers = SolverChoice({}, {name});
      expect_sound(graph, options, bound);
      options.solvers = SolverChoice({name}, {});
      expect_sound(graph, options, bound);
    }
  }
}

TEST(Remat, IsSoundWithoutEachSolverAndWithEachAloneOnRandomGraphs) {
  for (unsigned seed = 0; seed < seeds(5); ++seed) {
    const fake::BudgetGraph graph(seed * 7 + 1, 12 + 10 * static_cast<int>(seed));
    SCOPED_TRACE(seed);
    expect_sound_whoever_is_left_out(graph.graph());
  }
}

TEST(Remat, IsSoundWithoutEachSolverAndWithEachAloneOnAModel) {
  expect_sound_whoever_is_left_out(models::mlp(6, 64, 32));
}

TEST(Remat, WithAllSolversLeftOutSaysThatTheBudgetCannotBeMet) {
  const Graph graph = models::mlp(8, 64, 32);
  const Plan free = make_plan(graph, test_target());
  const SolverChoice none({}, solver_names());
  const Result<Plan, Infeasible> result =
      try_plan(graph, test_target(), {.memory = budget_at(free, 80), .solvers = none});
  ASSERT_FALSE(result);
  const std::int64_t smallest = result.error().smallest.peak();
  EXPECT_GT(smallest, budget_at(free, 80));
  EXPECT_LE(smallest, free.peak());
  EXPECT_TRUE(try_plan(graph, test_target(), {.memory = smallest, .solvers = none}));
  EXPECT_TRUE(try_plan(graph, test_target(), {.memory = budget_at(free, 80)}));  // all together meet it
}

// What is read early and late waits beside something large, unless it is made again.
TEST(Remat, RepeatsAnEffectOnlyIfItMayHappenAgain) {
  for (const Op* op : {&fake::work, &fake::exchange, &fake::effect}) {
    fake::Sketch s;
    const Var x = s.input(1, 64), waits = s.many({x}, {.rows = {16}, .columns = {64}}, *op).front();
    const Var large = s.node({s.node({waits}, 1)}, 32);
    s.output(s.node({waits, s.node({large}, 1)}, 1));
    const std::int64_t budget = 40 * 64;
    ASSERT_GT(make_plan(s.graph, test_target()).peak(), budget);
    const Result<Plan, Infeasible> result = try_plan(s.graph, test_target(), {.memory = budget});
    ASSERT_EQ(result.ok(), op != &fake::effect) << op->name;
    if (result) {
      EXPECT_EQ(result.value().steps.size(), s.graph.nodes().size() + 1) << op->name;
    }
  }
}

TEST(Remat, ReportsNoSolverWhereNoneIsAsked) {
  const Graph graph = models::mlp(3, 64, 32);
  PipelineReport report;
  const Plan free = make_plan(graph, test_target(), {}, &report);
  make_plan(graph, test_target(), {.memory = free.peak()}, &report);
  for (const SolverRecord& solver : report.solvers) EXPECT_EQ(solver.runs, 0) << solver.name;
}

}  // namespace
}  // namespace tidemark
