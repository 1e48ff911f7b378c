#include "tidemark/solve/remat/window.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_remat.h"

namespace tidemark {
namespace {

// Something valid within the budget, if it can be had, that is dearer than need be: the cheapest for a
// tighter budget.
Sequence wasteful(RematProblem problem) {
  problem.budget = smallest_peak(problem).bytes;
  return exact_sequence(problem).sequence;
}

TEST(RematWindow, FindsTheOptimumWhenTheWindowIsAll) {
  int helped = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = random_remat(
        seed, {.tasks = 8 + static_cast<int>(seed % 5), .simple = seed % 3 == 0, .training = seed % 2 == 0});
    problem.fixed_order = true;
    const Sequence start = wasteful(problem);
    ASSERT_TRUE(is_valid_sequence(problem, start));
    for (int more = 0; more < 6; more += 2) {
      problem.budget = smallest_peak(problem).bytes + more;
      const ExactSequence exact = exact_sequence(problem);
      const WindowRepair found = repair_window(problem, start, 0, static_cast<int>(start.size()));
      ASSERT_TRUE(found.complete);
      const SequenceFigures figures = figures_of(problem, found.sequence.empty() ? start : found.sequence);
      ASSERT_LE(figures.peak, problem.budget);
      ASSERT_EQ(figures.cost, exact.cost);
      helped += !found.sequence.empty();
    }
  }
  EXPECT_GT(helped, 20);
}

TEST(RematWindow, NeverMakesAnythingWorse) {
  int helped = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem =
        random_remat(seed, {.tasks = 14, .simple = seed % 3 == 0, .training = seed % 2 == 0});
    const Sequence start = wasteful(problem);
    problem.budget = smallest_peak(problem).bytes + 1 + static_cast<int>(seed % 4);
    const SequenceFigures before = figures_of(problem, start);
    for (int first = 0; first + 5 < static_cast<int>(start.size()); first += 3) {
      const WindowRepair found = repair_window(problem, start, first, first + 6);
      if (found.sequence.empty()) continue;
      ASSERT_TRUE(is_valid_sequence(problem, found.sequence));
      const SequenceFigures after = figures_of(problem, found.sequence);
      ASSERT_LE(after.peak, problem.budget);
      ASSERT_LT(after.cost, before.cost);
      ++helped;
    }
  }
  EXPECT_GT(helped, 10);
}

TEST(RematWindow, BringsAPieceWithinTheBudget) {
  RematProblem problem = random_remat(4, {.tasks = 16, .simple = true, .training = true});
  problem.fixed_order = true;
  Sequence start(16);
  std::iota(start.begin(), start.end(), 0);
  problem.budget = figures_of(problem, start).peak - 1;
  const WindowRepair found = repair_window(problem, start, 0, 16);
  ASSERT_TRUE(found.complete);
  ASSERT_FALSE(found.sequence.empty());
  EXPECT_LE(figures_of(problem, found.sequence).peak, problem.budget);
}

}  // namespace
}  // namespace tidemark
