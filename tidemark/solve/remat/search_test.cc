#include "tidemark/solve/remat/search.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_problems.h"
#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/timeline.h"

namespace tidemark {
namespace {

Sequence base_order(const RematProblem& problem) {
  Sequence order(static_cast<std::size_t>(problem.model.tasks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(RematSearch, ShavingNeverRaisesThePeakAndStaysValid) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    RematProblem problem = fake::random_problem(seed, 10 + static_cast<int>(seed));
    const Sequence base = base_order(problem);
    const std::int64_t peak = figures_of(problem, base).peak;
    for (double part : {0.95, 0.8, 0.5}) {
      Work work{200'000};
      const auto limit = static_cast<std::int64_t>(static_cast<double>(peak) * part);
      const Sequence shaved = shave(problem, base, limit, work);
      ASSERT_TRUE(is_valid_sequence(problem, shaved)) << seed;
      ASSERT_LE(figures_of(problem, shaved).peak, peak) << seed;
    }
  }
}

TEST(RematSearch, BeamsStayWithinTheBudgetAndNearTheOptimumOfTheirOrder) {
  int solved = 0, optimal = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    RematProblem problem = fake::random_problem(seed, 20 + static_cast<int>(seed % 10));
    problem.fixed_order = true;
    const Sequence base = base_order(problem);
    problem.budget = figures_of(problem, base).peak * 8 / 10;
    const ExactSequence exact = exact_sequence(problem);
    if (!exact.complete) continue;
    Work work{300'000}, same{300'000};
    const Sequence found = beam(problem, base, {}, work);
    ASSERT_EQ(beam(problem, base, {}, same), found) << seed;
    if (found.empty()) continue;
    ++solved;
    ASSERT_TRUE(is_valid_sequence(problem, found)) << seed;
    const SequenceFigures figures = figures_of(problem, found);
    ASSERT_LE(figures.peak, problem.budget) << seed;
    ASSERT_FALSE(exact.sequence.empty()) << seed;
    ASSERT_LE(figures.cost, 1.5 * exact.cost) << seed;
    optimal += figures.cost <= exact.cost * (1 + 1e-9);
  }
  EXPECT_GT(solved, 20);
  EXPECT_GT(2 * optimal, solved);
}

TEST(RematSearch, BytesNearTheLargestDoNotOverflow) {
  OrderParts parts;
  constexpr int tasks = 300;
  constexpr std::int64_t size = (std::int64_t{1} << 61) / tasks;
  for (int t = 0; t < tasks; ++t) {
    parts.makes.push_back({t});
    parts.uses.emplace_back();
    parts.before.emplace_back();
    if (t > 0) {
      parts.uses.back() = {t - 1};
      parts.before.back() = {t - 1};
    }
    if (t + 1 == tasks) {  // reads all, from the first on
      for (int i = 0; i + 1 < tasks - 1; i += 3) {
        parts.uses.back().push_back(i);
        parts.before.back().push_back(i);
      }
    }
    parts.scratch.push_back(0);
    parts.size.push_back(size);
    parts.pinned.push_back(false);
    parts.present.push_back(false);
    parts.reuses.emplace_back();
  }
  RematProblem problem;
  problem.model = make_model(std::move(parts));
  problem.cost.assign(tasks, 1);
  problem.repeatable.assign(tasks, true);
  problem.closed_by = IntLists(std::vector<std::vector<int>>(tasks));
  const Timeline line(problem, base_order(problem));
  double excess = 0;
  for (Timeline::Run run = line.first(); run != Timeline::none; run = line.next(run)) {
    excess += static_cast<double>(line.load(run) - size);
  }
  EXPECT_GT(excess, 0x1p63);
  EXPECT_NEAR(line.excess(size), excess, 1e-9 * excess);
}

TEST(RematSearch, MeetsTheExactOptimumOnSmallProblems) {
  int solved = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    RematProblem problem = fake::random_problem(seed, 26 + static_cast<int>(seed % 4));
    problem.fixed_order = seed % 2 == 0;
    const Sequence base = base_order(problem);
    problem.budget = figures_of(problem, base).peak * 8 / 10;
    const ExactSequence exact = exact_sequence(problem);
    if (!exact.complete) continue;
    const RematResult result = solve_remat(problem, base, {.units = 300'000});
    ASSERT_EQ(result.feasible, !exact.sequence.empty()) << seed;
    if (!result.feasible) continue;
    ++solved;
    ASSERT_TRUE(is_valid_sequence(problem, result.sequence)) << seed;
    ASSERT_LE(result.figures.peak, problem.budget) << seed;
    ASSERT_NEAR(result.figures.cost, exact.cost, 1e-9 * exact.cost) << seed;
    ASSERT_LE(result.time_bound, exact.cost * (1 + 1e-9)) << seed;
  }
  EXPECT_GT(solved, 20);
}

TEST(RematSearch, TheFloorIsTheExactOneOnSmallProblems) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RematProblem problem = fake::random_problem(seed, 6 + static_cast<int>(seed % 12));
    const Sequence base = base_order(problem);
    const SmallestPeak exact = smallest_peak(problem);
    ASSERT_TRUE(exact.complete) << seed;
    problem.budget = exact.bytes - 1;
    const RematResult below = solve_remat(problem, base);
    EXPECT_FALSE(below.feasible) << seed;
    EXPECT_EQ(below.figures.peak, exact.bytes) << seed;
    problem.budget = exact.bytes;
    EXPECT_TRUE(solve_remat(problem, base).feasible) << seed;
  }
}

TEST(RematSearch, TheSameWorkGivesTheSameSequence) {
  RematProblem problem = fake::random_problem(3, 80);
  const Sequence base = base_order(problem);
  problem.budget = figures_of(problem, base).peak * 7 / 10;
  EXPECT_EQ(solve_remat(problem, base, {.units = 100'000}).sequence,
            solve_remat(problem, base, {.units = 100'000}).sequence);
}

}  // namespace
}  // namespace tidemark
