#include "tidemark/solve/pack/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tests/support/pack_cases.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark {
namespace {

using packing::below;
using packing::Items;
using packing::least_height;
using packing::Noise;
using packing::random_items;
using packing::tight_items;

std::int64_t height_of(const Items& items, const std::vector<std::int64_t>& offsets) {
  std::int64_t height = 0;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].size > 0 && items[i].lower < items[i].upper)
      height = std::max(height, offsets[i] + align_up(items[i].size, items[i].alignment));
  return height;
}

void expect_sound(const Items& items, const PackResult& result) {
  const auto fault = check_packing(items, result.offsets);
  EXPECT_FALSE(fault.has_value()) << fault->what;
  EXPECT_EQ(result.height, height_of(items, result.offsets));
  EXPECT_GE(result.lower_bound, max_load(items));
  EXPECT_GE(result.height, result.lower_bound);
  EXPECT_EQ(result.proved_optimal, result.height == result.lower_bound);
}

TEST(Pack, NothingNeedsNothing) {
  const PackResult result = pack({});
  EXPECT_EQ(result.height, 0);
  EXPECT_TRUE(result.proved_optimal);
  EXPECT_EQ(result.status, PackStatus::fits);
}

TEST(Pack, OneItemLiesOnTheFloor) {
  const Items items = {{3, 7, 100}};
  const PackResult result = pack(items);
  EXPECT_EQ(result.offsets, std::vector<std::int64_t>{0});
  EXPECT_EQ(result.height, 100);
}

TEST(Pack, ItemsThatAllMeetAreStacked) {
  Items items;
  for (int i = 1; i <= 50; ++i) items.push_back({0, 10, i});
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 50 * 51 / 2);
}

TEST(Pack, ChainsReuseTheSameBytes) {
  Items items;
  for (int i = 0; i < 1000; ++i) items.push_back({i, i + 1, 64});
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 64);
}

TEST(Pack, OverlappingChainsAlternate) {
  Items items;
  for (int i = 0; i < 1000; ++i) items.push_back({i, i + 2, 64});
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 128);
}

TEST(Pack, NestedLifetimesReachTheLoad) {
  Items items;
  for (int i = 0; i < 500; ++i) items.push_back({i, 1000 - i, 1 + i % 7});
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, max_load(items));
}

TEST(Pack, EmptyItemsTakeNoRoom) {
  const Items items = {{0, 5, 0}, {0, 5, 8}, {2, 2, 1000}, {1, 3, 0, 16}};
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 8);
}

TEST(Pack, NegativeTimesAreTimes) {
  const Items items = {{-10, -5, 8}, {-7, 3, 8}, {std::numeric_limits<std::int64_t>::min(), -8, 4}};
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 16);
}

TEST(Pack, OffsetsAreMultiplesOfAlignments) {
  const Items items = {{0, 4, 100, 64}, {0, 4, 1, 64}, {0, 4, 3, 64}, {2, 6, 64, 64}};
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 128 + 64 + 64 + 64);
}

TEST(Pack, MixedAlignmentsHold) {
  Noise noise(5);
  for (int round = 0; round < 60; ++round) {
    const Items items = random_items(noise, 30, 12, 300, 9);
    expect_sound(items, pack(items, {.work = 3'000'000}));
  }
}

TEST(Pack, FindsTheOptimumOfSmallInstances) {
  Noise noise(1);
  for (int round = 0; round < 300; ++round) {
    const Items items = random_items(noise, 7, 8, 9);
    const PackResult result = pack(items);
    expect_sound(items, result);
    EXPECT_TRUE(result.proved_optimal);
    EXPECT_EQ(result.height, least_height(items)) << "round " << round;
  }
}

TEST(Pack, ProvesTheOptimumWhereItIsAboveTheLoad) {
  int above = 0;
  Noise noise(2);
  for (int round = 0; round < 1000; ++round) {
    const Items items = tight_items(noise, 12, 9);
    const PackResult result = pack(items);
    expect_sound(items, result);
    EXPECT_TRUE(result.proved_optimal);
    EXPECT_EQ(result.height, least_height(items)) << "round " << round;
    if (result.height == max_load(items)) continue;
    ++above;
    EXPECT_EQ(pack(items, {.capacity = result.height - 1}).status, PackStatus::proved_infeasible);
  }
  EXPECT_GE(above, 5);
}

TEST(Pack, RandomInstancesAreSound) {
  Noise noise(3);
  for (int round = 0; round < 200; ++round) {
    const int count = 1 + below(noise, 120);
    const Items items = random_items(noise, count, 1 + below(noise, 60), 1 + below(noise, 5000));
    expect_sound(items, pack(items, {.work = 5'000'000}));
  }
}

TEST(Pack, TheSameItemsAndEffortGiveTheSameLayout) {
  Noise noise(4);
  const Items items = random_items(noise, 300, 100, 5000);
  const PackResult one = pack(items, {.work = 100'000'000});
  const PackResult two = pack(items, {.work = 100'000'000});
  EXPECT_EQ(one.offsets, two.offsets);
  EXPECT_EQ(one.lower_bound, two.lower_bound);
}

TEST(Pack, LittleWorkStillGivesALayout) {
  Noise noise(6);
  const Items items = random_items(noise, 200, 80, 5000);
  expect_sound(items, pack(items, {.work = 0}));
  expect_sound(items, pack(items, {.work = 0, .seconds = 0.0}));
}

TEST(Pack, StopsAtTheCapacity) {
  Noise noise(7);
  const Items items = random_items(noise, 100, 40, 500);
  const PackResult least = pack(items, {.work = 200'000'000});
  const PackResult roomy = pack(items, {.capacity = least.height * 2});
  expect_sound(items, roomy);
  EXPECT_EQ(roomy.status, PackStatus::fits);
  EXPECT_LE(roomy.height, least.height * 2);
}

TEST(Pack, ACapacityBelowTheLoadIsProvedInfeasible) {
  const Items items = {{0, 2, 10}, {1, 3, 10}};
  for (std::int64_t capacity : {std::int64_t{19}, std::int64_t{0}, std::int64_t{-1}}) {
    const PackResult result = pack(items, {.capacity = capacity});
    EXPECT_EQ(result.status, PackStatus::proved_infeasible);
    EXPECT_EQ(result.lower_bound, 20);
  }
}

TEST(Pack, RejectsWhatIsNoItem) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const Items& items : {Items{{0, 1, -1}}, Items{{2, 1, 8}}, Items{{0, 1, 8, 3}}, Items{{0, 1, 8, 0}},
                             Items{{0, 1, huge}}, Items{{0, 1, 8, std::numeric_limits<std::int64_t>::min()}},
                             Items{{0, 2, huge / 4}, {1, 3, huge / 4}, {1, 2, huge / 4}, {0, 3, huge / 4}}})
    EXPECT_THROW(pack(items), Error);
}

TEST(Pack, TakesTheLargestLoadsAllowed) {
  const std::int64_t large = std::int64_t{1} << 58;
  const Items items = {{0, 2, large}, {1, 3, large}, {2, 4, 2 * large}, {3, 5, large + 1}};
  const PackResult result = pack(items);
  expect_sound(items, result);
  EXPECT_EQ(result.height, 3 * large + 1);
}

TEST(PackCheck, SeesWhatIsWrong) {
  const Items items = {{0, 2, 10}, {1, 3, 10}, {2, 4, 10, 4}};
  const std::vector<std::int64_t> good = {0, 10, 0}, shared = {0, 9, 0}, inside = {0, 0, 20},
                                  odd = {0, 10, 2};
  EXPECT_FALSE(check_packing(items, good));
  EXPECT_TRUE(check_packing(items, shared));
  EXPECT_TRUE(check_packing(items, inside));
  EXPECT_TRUE(check_packing(items, odd));
  EXPECT_TRUE(check_packing(items, std::vector<std::int64_t>{0, 10}));
  EXPECT_TRUE(check_packing(items, std::vector<std::int64_t>{0, 10, -4}));
}

}  // namespace
}  // namespace tidemark
