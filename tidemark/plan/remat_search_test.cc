#include "tidemark/plan/remat_search.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_problems.h"
#include "tidemark/plan/remat_exact.h"

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
