// Solvers chosen by name: whatever is left out, what comes back is a sequence with its true figures, and the
// log tells who found it and what it took.
#include "tidemark/solve/remat/solvers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "tests/support/random_problems.h"
#include "tests/support/random_remat.h"
#include "tests/support/sanitized.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

Sequence base_order(const RematProblem& problem) {
  Sequence order(static_cast<std::size_t>(problem.model.tasks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const SolverInfo& solver : solver_list()) list.emplace_back(solver.name);
  return list;
}

const SolverRecord& record_of(const SolverLog& log, std::string_view name) {
  return *std::ranges::find(log, name, &SolverRecord::name);
}

// Of all sizes, from what is solved to the end to what is annealed; chains and their way back, and others; in
// both kinds of order, at roomy and tight budgets.
template <class Visit>
void for_random_problems(Visit&& visit) {
  for (unsigned seed = 0; seed < seeds(12); ++seed) {
    const int tasks = 12 + 9 * static_cast<int>(seed);
    RematProblem problem = seed % 3 == 2
                               ? random_remat(seed, {.tasks = tasks, .simple = true, .training = true})
                               : fake::random_problem(seed, tasks);
    problem.fixed_order = seed % 2 == 0;
    const std::int64_t peak = figures_of(problem, base_order(problem)).peak;
    for (int percent : {100, 85, 65, 30}) {
      problem.budget = peak * percent / 100;
      SCOPED_TRACE(fmt::format("seed {} at {}%", seed, percent));
      visit(problem);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

constexpr std::int64_t little_work = 30'000;

RematResult solve(const RematProblem& problem, const SolverChoice& choice, RematMemory* memory = nullptr,
                  std::span<const int> warm = {}) {
  return solve_remat(problem, base_order(problem),
                     {.units = little_work, .search_order = true, .solvers = choice, .memory = memory}, warm);
}

// What holds whichever solvers were asked. `all`: what all of them say of the same problem.
void expect_sound(const RematProblem& problem, const SolverChoice& choice, const RematResult& result,
                  const RematResult& all) {
  ASSERT_TRUE(is_valid_sequence(problem, result.sequence));
  const SequenceFigures figures = figures_of(problem, result.sequence);
  EXPECT_EQ(figures.peak, result.figures.peak);
  EXPECT_EQ(figures.cost, result.figures.cost);
  EXPECT_EQ(result.feasible, figures.peak <= problem.budget);
  EXPECT_GE(figures.peak, all.memory_bound);
  if (result.feasible) {
    EXPECT_GE(figures.cost, all.time_bound * (1 - 1e-9));
  }

  std::int64_t work = 0, improved = 0;
  double cheapest = std::numeric_limits<double>::infinity();
  ASSERT_EQ(result.solvers.size(), names().size());
  for (std::size_t row = 0; row < result.solvers.size(); ++row) {
    const SolverRecord& record = result.solvers[row];
    EXPECT_EQ(record.chosen, choice.has(row));
    EXPECT_LE(record.runs, record.chosen) << record.name;
    EXPECT_GE(record.work_units, 0) << record.name;
    EXPECT_EQ(record.improved > 0, record.cost_after.has_value()) << record.name;
    if (record.cost_before) {
      EXPECT_LT(*record.cost_after, *record.cost_before) << record.name;
    }
    if (record.cost_after) cheapest = *record.cost_after;  // each only improves on those before
    work += record.work_units;
    improved += record.improved;
  }
  EXPECT_EQ(work, result.work_units);
  const bool fits_at_once = figures_of(problem, base_order(problem)).peak <= problem.budget;
  EXPECT_EQ(result.feasible, fits_at_once || improved > 0);
  if (improved > 0) {
    EXPECT_EQ(result.figures.cost, cheapest);
  }
}

TEST(Solvers, HaveNamesOfTheirOwnAndReasons) {
  std::set<std::string_view> seen;
  for (const SolverInfo& solver : solver_list()) {
    EXPECT_TRUE(seen.insert(solver.name).second) << solver.name;
    EXPECT_FALSE(solver.needs.empty()) << solver.name;
    EXPECT_FALSE(solver.why.empty()) << solver.name;
  }
}

TEST(Solvers, StandInTheDocsInTheSameOrder) {
  std::ifstream file(TIDEMARK_SOURCE_DIR "/docs/planning.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::size_t at = page.find("| solver |");
  for (const std::string& name : names()) {
    ASSERT_NE(at, std::string::npos) << name;
    at = page.find("\n| `" + name + "` |", at);
  }
  EXPECT_NE(at, std::string::npos) << names().back();
}

TEST(Solvers, AllByNameAreTheSameAsNoChoice) {
  for_random_problems([](const RematProblem& problem) {
    const RematResult plain = solve(problem, {}), named = solve(problem, SolverChoice(names(), {}));
    ASSERT_EQ(plain.sequence, named.sequence);
    EXPECT_EQ(plain.work_units, named.work_units);
  });
}

TEST(Solvers, EachCanBeLeftOut) {
  for_random_problems([](const RematProblem& problem) {
    const RematResult all = solve(problem, {});
    expect_sound(problem, {}, all, all);
    for (const std::string& name : names()) {
      SCOPED_TRACE("without " + name);
      const SolverChoice choice({}, {name});
      const RematResult result = solve(problem, choice);
      ASSERT_NO_FATAL_FAILURE(expect_sound(problem, choice, result, all));
      EXPECT_EQ(record_of(result.solvers, name).runs, 0);
    }
  });
}

TEST(Solvers, EachWorksAlone) {
  std::set<std::string> useful;
  for_random_problems([&](const RematProblem& problem) {
    RematProblem roomier = problem;
    roomier.budget += problem.budget / 8;
    RematMemory memory;
    const Sequence nearby = solve(roomier, {}, &memory).sequence;
    const RematResult all = solve(problem, {});
    for (const std::string& name : names()) {
      SCOPED_TRACE(name);
      const SolverChoice choice({name}, {});
      RematMemory own = memory;
      const RematResult result = solve(problem, choice, &own, nearby);
      ASSERT_NO_FATAL_FAILURE(expect_sound(problem, choice, result, all));
      if (record_of(result.solvers, name).improved > 0) useful.insert(name);
    }
  });
  // So none of them stands in the table for nothing.
  if (few) return;
  for (const std::string& name : names()) EXPECT_TRUE(useful.contains(name)) << name;
}

TEST(Solvers, AnnealingAloneMeetsManyBudgets) {
  int asked = 0, met = 0;
  for_random_problems([&](const RematProblem& problem) {
    if (!solve(problem, {}).feasible) return;
    const RematResult result = solve(problem, SolverChoice({"anneal"}, {}));
    asked += record_of(result.solvers, "anneal").runs > 0;
    met += record_of(result.solvers, "anneal").improved > 0;
  });
  if (few) return;
  EXPECT_GT(asked, 10);
  EXPECT_GT(2 * met, asked);
}

TEST(Solvers, WithNoneLeftOnlyWhatFitsAtOnceIsFound) {
  for_random_problems([](const RematProblem& problem) {
    const SolverChoice none({}, names());
    const RematResult result = solve(problem, none);
    EXPECT_EQ(result.sequence, base_order(problem));
    EXPECT_EQ(result.feasible, result.figures.peak <= problem.budget);
    EXPECT_EQ(result.work_units, 0);
  });
}

TEST(Solvers, NamesThatNoneHasAreRefusedWithThoseThatThereAre) {
  for (const std::string name : {"", "Anneal", "anneal ", "tabu"}) {
    for (bool only : {true, false}) {
      try {
        only ? SolverChoice({"exact", name}, {}) : SolverChoice({}, {"exact", name});
        FAIL() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
        for (const std::string& known : names())
          EXPECT_NE(error.parts().expected.find(known), std::string::npos) << known;
      }
    }
  }
}

TEST(Solvers, LeavingOutGoesBeforeAskingFor) {
  const SolverChoice choice({"exact", "anneal", "exact"}, {"exact"});
  for (std::size_t row = 0; row < names().size(); ++row)
    EXPECT_EQ(choice.has(row), names()[row] == "anneal") << names()[row];
}

TEST(Solvers, LogsAddUp) {
  SolverLog log;
  add_to_log(log, {{.name = "a", .runs = 1, .work_units = 5, .improved = 1, .cost_after = 9.0}});
  add_to_log(log, {{.name = "a", .runs = 1, .work_units = 7}});
  add_to_log(log, {{.name = "a", .runs = 1, .improved = 2, .cost_before = 8.0, .cost_after = 6.0}});
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].runs, 3);
  EXPECT_EQ(log[0].work_units, 12);
  EXPECT_EQ(log[0].improved, 3);
  EXPECT_EQ(log[0].cost_before, 8.0);
  EXPECT_EQ(log[0].cost_after, 6.0);
}

}  // namespace
}  // namespace tidemark
