#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random_remat.h"
#include "tests/support/sanitized.h"
#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

Sequence base_of(const RematProblem& problem) {
  Sequence base(static_cast<std::size_t>(problem.model.tasks));
  std::iota(base.begin(), base.end(), 0);
  return base;
}

TEST(RematCut, GivesValidSequencesThatAreOftenWithinTheBudget) {
  int within = 0, cheapest = 0, all = 0;
  for (unsigned seed = 0; seed < seeds(1200); ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = random_remat(seed, {.tasks = 6 + static_cast<int>(seed % 5),
                                               .simple = seed % 3 == 0,
                                               .odd_sizes = seed % 5 == 0,
                                               .training = seed % 2 == 0});
    const Sequence base = base_of(problem);
    const SmallestPeak floor = smallest_peak(problem);
    const std::int64_t peak = figures_of(problem, base).peak;
    ASSERT_TRUE(floor.complete);
    for (problem.budget = floor.bytes + 1; problem.budget < peak; problem.budget += 3) {
      const ExactSequence exact = exact_sequence(problem);
      ASSERT_TRUE(exact.complete);
      const CutOptions options{.highest_first = seed % 4 < 2, .tilt = seed % 8 < 4 ? 0.05 : -0.05};
      Work work{10'000};
      const Sequence cut = cut_down(problem, base, options, work);
      ASSERT_TRUE(is_valid_sequence(problem, cut));
      const SequenceFigures figures = figures_of(problem, cut);
      ++all;
      if (figures.peak > problem.budget) continue;
      ++within;
      ASSERT_GE(figures.cost, exact.cost - 1e-9);
      cheapest += figures.cost <= exact.cost + 1e-9;
    }
  }
  if (few) return;
  EXPECT_GT(within, all * 2 / 3);
  EXPECT_GT(cheapest, within / 2);
}

// What fits is left as it is, and so is what cannot be helped.
TEST(RematCut, StaysWhereThereIsNothingToChoose) {
  RematProblem problem = random_remat(2, {.tasks = 8, .simple = true, .training = true});
  const Sequence base = base_of(problem);
  Work work{10'000};
  problem.budget = figures_of(problem, base).peak;
  EXPECT_EQ(cut_down(problem, base, {}, work), base);
  problem.repeatable.assign(8, false);
  problem.fixed_order = true;
  problem.budget -= 1;
  EXPECT_EQ(cut_down(problem, base, {}, work), base);
}

// The second task is read at the end alone: it need not run before the turn, whose step is too high with its
// result.
TEST(RematCut, PutsOffFirstRunsInAFreeOrder) {
  OrderParts parts;
  RematProblem problem;
  parts.uses = {{}, {0}, {0}, {2, 1}};
  parts.before = parts.uses;
  parts.makes = {{0}, {1}, {2}, {3}};
  parts.size = {4, 10, 1, 1};
  parts.scratch = {0, 0, 20, 0};
  parts.reuses.resize(4);
  parts.pinned = {false, false, false, true};
  parts.present.assign(4, false);
  problem.model = make_model(std::move(parts));
  problem.closed_by = IntLists(std::vector<std::vector<int>>(4));
  problem.cost = {1, 1, 1, 1};
  problem.repeatable.assign(4, true);
  problem.budget = 30;
  Work work{10'000};
  EXPECT_EQ(cut_down(problem, base_of(problem), {.highest_first = true}, work), (Sequence{0, 2, 1, 3}));
  problem.fixed_order = true;
  EXPECT_EQ(cut_down(problem, base_of(problem), {.highest_first = true}, work), (Sequence{0, 1, 2, 1, 3}));
}

}  // namespace
}  // namespace tidemark
