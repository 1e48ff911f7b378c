#include "tidemark/solve/pack/search.h"

#include <gtest/gtest.h>

#include "tests/support/pack_cases.h"
#include "tidemark/solve/pack/greedy.h"

namespace tidemark::packing {
namespace {

constexpr std::int64_t plenty = 1'000'000'000;

// Every connected part of the items, searched at a capacity: do all fit?
bool fits(const Items& items, std::int64_t capacity) {
  const Reduction reduction = reduce(items);
  for (const Problem& problem : reduction.problems) {
    WorkMeter meter(plenty, std::nullopt);
    Search search(problem, capacity / reduction.unit);
    const SearchOutcome outcome = search.run(meter, plenty);
    EXPECT_NE(outcome, SearchOutcome::gave_up);
    if (outcome != SearchOutcome::found) return false;
    EXPECT_LE(search.layout().height * reduction.unit, capacity);
  }
  return true;
}

TEST(PackSearch, FindsALayoutExactlyFromTheLeastHeightOn) {
  Noise noise(11);
  for (int round = 0; round < 150; ++round) {
    const Items items = round % 2 == 0 ? tight_items(noise, 12, 9) : random_items(noise, 12, 10, 5);
    const std::int64_t least = least_height(items);
    EXPECT_FALSE(fits(items, least - 1)) << "round " << round;
    EXPECT_TRUE(fits(items, least)) << "round " << round;
    EXPECT_TRUE(fits(items, least + 1)) << "round " << round;
  }
}

TEST(PackSearch, GoesOnWhereItStopped) {
  Noise noise(12);
  const Items items = tight_items(noise, 40, 60);
  const Reduction reduction = reduce(items);
  ASSERT_EQ(reduction.problems.size(), 1u);
  WorkMeter meter(plenty * 10, std::nullopt);
  Search search(reduction.problems[0], reduction.problems[0].bound * 5 / 4);
  SearchOutcome outcome = SearchOutcome::gave_up;
  for (int k = 0; k < 1000 && outcome == SearchOutcome::gave_up; ++k) outcome = search.run(meter, 100'000);
  EXPECT_EQ(outcome, SearchOutcome::found);
}

TEST(PackSearch, StopsWhenTheWorkIsSpent) {
  Noise noise(13);
  const Items items = tight_items(noise, 60, 300);
  const Reduction reduction = reduce(items);
  WorkMeter meter(50'000, std::nullopt);
  Search search(reduction.problems[0], reduction.problems[0].bound);
  search.run(meter, plenty);
  EXPECT_TRUE(meter.exhausted());
  EXPECT_GT(meter.left(), -50'000);
}

TEST(PackGreedy, LevelsNeverMakeALayoutWorse) {
  Noise noise(14);
  for (int round = 0; round < 20; ++round) {
    const Reduction reduction = reduce(tight_items(noise, 60, 300));
    for (const Problem& problem : reduction.problems) {
      WorkMeter meter(plenty, std::nullopt);
      Layout best = pack_whole(problem, problem.bound, meter);
      const std::int64_t before = best.height;
      pack_in_levels(problem, 4, noise, meter, best);
      EXPECT_LE(best.height, before);
      EXPECT_GE(best.height, problem.bound);
    }
  }
}

}  // namespace
}  // namespace tidemark::packing
