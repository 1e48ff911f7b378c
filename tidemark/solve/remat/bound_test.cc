#include "tidemark/solve/remat/bound.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_remat.h"
#include "tidemark/solve/remat/exact.h"

namespace tidemark {
namespace {

constexpr double rounding = 1e-9;

// A chain of `n` tasks of one byte and cost, each result used once more on the way back.
RematProblem there_and_back(int n) {
  OrderParts parts;
  RematProblem problem;
  for (int t = 0; t < 2 * n; ++t) {
    parts.before.push_back({});
    parts.uses.push_back({});
    if (t > 0) parts.uses.back().push_back(t - 1);
    if (t > n) parts.uses.back().push_back(2 * n - 1 - t);
    parts.before.back() = parts.uses.back();
    parts.makes.push_back({t});
    parts.scratch.push_back(0);
    parts.reuses.push_back({});
    parts.size.push_back(1);
    parts.pinned.push_back(false);
    parts.present.push_back(false);
    problem.cost.push_back(1);
    problem.repeatable.push_back(t < n);
  }
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(std::vector<std::vector<int>>(static_cast<std::size_t>(2 * n)));
  problem.fixed_order = true;
  return problem;
}

TEST(RematBound, IsNeverAboveTheOptimum) {
  int above_base = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = random_remat(seed, {.tasks = 5 + static_cast<int>(seed % 6),
                                               .simple = seed % 3 == 0,
                                               .odd_sizes = seed % 5 == 0,
                                               .training = seed % 2 == 0});
    const SmallestPeak floor = smallest_peak(problem);
    ASSERT_TRUE(floor.complete);
    ASSERT_LE(memory_bound(problem), floor.bytes);
    for (std::int64_t budget = floor.bytes; budget < floor.bytes + 9; budget += 2) {
      problem.budget = budget;
      const ExactSequence exact = exact_sequence(problem);
      ASSERT_TRUE(exact.complete);
      const double bound = time_bound(problem, {.work = 50'000});
      ASSERT_GE(bound, problem.base_cost());
      ASSERT_LE(bound, exact.cost * (1 + rounding));
      above_base += bound > problem.base_cost() * (1 + rounding);
    }
  }
  EXPECT_GT(above_base, 50);
}

TEST(RematBound, CountsWhatCannotBeMadeAgain) {
  RematProblem problem = there_and_back(8);
  EXPECT_EQ(memory_bound(problem), 3);
  problem.repeatable.assign(16, false);
  EXPECT_EQ(memory_bound(problem), 9);
  problem.fixed_order = false;
  EXPECT_EQ(memory_bound(problem), 9);
}

TEST(RematBound, SaysWhenNothingFits) {
  RematProblem problem = there_and_back(8);
  problem.budget = 2;
  EXPECT_EQ(time_bound(problem), std::numeric_limits<double>::infinity());
}

TEST(RematBound, SeesThatDropsAtOnePeakAreBoughtOnce) {
  RematProblem problem = there_and_back(8);
  for (std::int64_t budget = 4; budget <= 9; ++budget) {
    problem.budget = budget;
    const ExactSequence exact = exact_sequence(problem);
    ASSERT_TRUE(exact.complete);
    const double bound = time_bound(problem);
    EXPECT_LE(bound, exact.cost * (1 + rounding));
    EXPECT_GE(bound - 16, 0.6 * (exact.cost - 16)) << "budget " << budget;
  }
}

TEST(RematBound, TakesFewProbesOfManyTasks) {
  RematProblem problem = there_and_back(15'000);
  problem.budget = 15'001 * 3 / 4;
  for (bool fixed : {true, false}) {
    problem.fixed_order = fixed;
    EXPECT_EQ(memory_bound(problem), 3);
    const double bound = time_bound(problem);
    EXPECT_GT(bound,
              problem.base_cost() + 3'000);  // at the turn a quarter cannot stay, and each costs 1 again
    EXPECT_LE(bound, problem.base_cost() + 3'751);
  }
}

}  // namespace
}  // namespace tidemark
