// Laws of plans within a budget, on more than 2,000 random graphs.
#include "tests/support/budget_laws.h"

#include <gtest/gtest.h>

#include "tests/support/budget_graphs.h"
#include "tests/support/random_graphs.h"
#include "tests/support/sanitized.h"

namespace tidemark::testing {
namespace {

TEST(BudgetLaws, HoldOnSmallGraphsWhereMoreMemoryNeverTakesLonger) {
  BudgetTally tally;
  for (unsigned seed = 0; seed < seeds(1600); ++seed) {
    const fake::BudgetGraph random(seed, 5 + static_cast<int>(seed % 11));
    expect_budget_laws(random.graph(), random.name(),
                       {.budgets = 2, .effort = 0.3, .fixed_order = seed % 4 == 0, .exact = true}, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, few ? -1 : 800);
}

TEST(BudgetLaws, HoldOnMiddlingGraphs) {
  BudgetTally tally;
  for (unsigned seed = 0; seed < seeds(60); ++seed) {
    const fake::BudgetGraph random(seed + 10'000, 20 + static_cast<int>(seed % 40));
    expect_budget_laws(random.graph(), random.name(),
                       {.budgets = 2, .effort = 0.003, .fixed_order = seed % 4 == 0}, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, few ? -1 : 50);
  // Not all of these are solved to the end.
  EXPECT_LE(20 * tally.below_smallest, tally.graphs) << tally.examples;
  EXPECT_LE(20 * tally.slower_with_more, tally.plans) << tally.examples;
}

TEST(BudgetLaws, HoldOnGraphsOfViewsAndDonatedInputs) {
  BudgetTally tally;
  for (unsigned seed = 0; seed < seeds(400); ++seed) {
    const fake::RandomGraph random(seed, 5 + static_cast<int>(seed % 30));
    expect_budget_laws(random.graph(), fmt::format("random graph {}", seed),
                       {.budgets = 2, .effort = 0.003, .fixed_order = seed % 3 == 0}, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, few ? -1 : 100);
}

}  // namespace
}  // namespace tidemark::testing
