// The same laws on larger graphs and at more budgets. Larger graphs are not solved to the end, so that more
// memory may now and then give a slower plan; how often is bounded.
#include <gtest/gtest.h>

#include "tests/support/budget_graphs.h"
#include "tests/support/budget_laws.h"
#include "tests/support/random_graphs.h"

namespace tidemark::testing {
namespace {

TEST(BudgetLaws, HoldAtManyBudgets) {
  BudgetTally tally;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const fake::BudgetGraph random(seed + 20'000, 6 + static_cast<int>(seed % 16));
    expect_budget_laws(random.graph(), random.name(),
                       {.budgets = 9, .effort = 0.2, .fixed_order = seed % 3 == 0, .exact = true}, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, 1000);
}

TEST(BudgetLaws, HoldOnLargeGraphs) {
  BudgetTally tally;
  for (unsigned seed = 0; seed < 24; ++seed) {
    const fake::BudgetGraph random(seed + 30'000, 60 + 5 * static_cast<int>(seed));
    expect_budget_laws(random.graph(), random.name(),
                       {.budgets = 3, .effort = 0.01, .fixed_order = seed % 3 == 0}, tally);
    if (HasFailure()) return;
  }
  EXPECT_GT(tally.recomputing, 40);
  EXPECT_LE(10 * tally.below_smallest, tally.graphs) << tally.examples;
  EXPECT_LE(20 * tally.slower_with_more, tally.plans) << tally.examples;
}

}  // namespace
}  // namespace tidemark::testing
