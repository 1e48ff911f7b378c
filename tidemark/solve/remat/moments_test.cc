#include "tidemark/solve/remat/moments.h"

#include <gtest/gtest.h>

#include "tests/support/random_remat.h"
#include "tests/support/sanitized.h"
#include "tidemark/solve/remat/exact.h"

namespace tidemark {
namespace {

constexpr double rounding = 1e-9;
constexpr std::int64_t plenty = 1'000'000;

// Every moment of every problem, in a fixed and in a free order, against the optimum.
TEST(RematMoments, AreNeverDearerThanTheOptimum) {
  int moments = 0, above = 0;
  for (unsigned seed = 0; seed < seeds(4000); ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = random_remat(seed, {.tasks = 5 + static_cast<int>(seed % 5),
                                               .simple = seed % 3 == 0,
                                               .odd_sizes = seed % 5 == 0,
                                               .training = seed % 2 == 0});
    problem.fixed_order = seed % 4 < 2;
    const SmallestPeak floor = smallest_peak(problem);
    ASSERT_TRUE(floor.complete);
    for (std::int64_t budget = floor.bytes; budget < floor.bytes + 9; budget += 3) {
      problem.budget = budget;
      const ExactSequence exact = exact_sequence(problem);
      ASSERT_TRUE(exact.complete);
      const double repeats = exact.cost - problem.base_cost();
      for (int t = 0; t < problem.model.tasks; ++t) {
        std::int64_t visits = plenty;
        const double bound = MomentCut(problem, first_run(problem, t)).bound(0, visits).cost;
        ASSERT_LE(bound, repeats + rounding * exact.cost) << "task " << t << ", budget " << budget;
        moments += 1;
        above += bound > rounding * exact.cost;
      }
    }
  }
  if (few) return;
  EXPECT_GT(moments, 60'000);
  EXPECT_GT(above, 3'000);
}

// A dear task, two cheap ones behind it, and a turn, after which the results of all three are read. One of
// them must be kept, or the dear one runs again.
RematProblem dear_and_cheap() {
  OrderParts parts;
  RematProblem problem;
  const std::vector<std::vector<int>> uses = {{}, {0}, {1}, {2}, {3, 2}, {4, 1}, {5, 0}};
  const std::vector<std::int64_t> sizes = {10, 10, 10, 1, 1, 1, 1};
  const std::vector<double> costs = {100, 1, 1, 50, 50, 50, 50};
  for (int t = 0; t < 7; ++t) {
    parts.uses.push_back(uses[static_cast<std::size_t>(t)]);
    parts.before.push_back(parts.uses.back());
    parts.makes.push_back({t});
    parts.scratch.push_back(t == 3 ? 19 : 0);  // the turn is the peak
    parts.reuses.push_back({});
    parts.size.push_back(sizes[static_cast<std::size_t>(t)]);
    parts.pinned.push_back(false);
    parts.present.push_back(false);
    problem.cost.push_back(costs[static_cast<std::size_t>(t)]);
    problem.repeatable.push_back(t < 4);
  }
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(std::vector<std::vector<int>>(7));
  return problem;
}

TEST(RematMoments, CountTheChainOfWhatIsMadeAgain) {
  RematProblem problem = dear_and_cheap();
  std::int64_t visits = plenty;
  const auto bound_at = [&](std::int64_t budget) {
    problem.budget = budget;
    MomentCut cut(problem, first_run(problem, 3));
    EXPECT_EQ(cut.over(), 50 - budget);
    return cut.bound(0, visits).cost;
  };
  EXPECT_EQ(bound_at(50), 0);            // all three are kept, one as an operand of the turn
  EXPECT_NEAR(bound_at(40), 1, 1e-6);    // the first makes the second again
  EXPECT_NEAR(bound_at(30), 101, 1e-6);  // from the last none of the others can be made
  EXPECT_EQ(repeats_at_moments(problem, plenty), bound_at(30));
}

TEST(RematMoments, CountNothingForWhatMayBePartOfALargerKernel) {
  RematProblem problem = dear_and_cheap();
  problem.budget = 30;
  std::vector<bool> joins(7, false);
  joins[1] = true;
  EXPECT_NEAR(repeats_at_moments(problem, plenty, joins), 100, 1e-6);
  joins[3] = true;  // the turn, which is then no moment
  EXPECT_EQ(repeats_at_moments(problem, plenty, joins), 0);
}

TEST(RematMoments, AreBoundsHoweverLittleIsSpent) {
  RematProblem problem = dear_and_cheap();
  problem.budget = 30;
  for (std::int64_t visits = 0; visits < 200; visits += 3) {
    EXPECT_LE(repeats_at_moments(problem, visits), 101);
  }
}

}  // namespace
}  // namespace tidemark
