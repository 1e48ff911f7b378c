// Cuts of a loop with a disk, by the formula: within the bytes that there are, in order, and the faster the
// more there is.
#include "tidemark/engine/disk_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tidemark/plan/spill/tier.h"

namespace tidemark {
namespace {

DiskLoop loop_of(std::int64_t trips, std::vector<std::int64_t> state, std::vector<std::int64_t> record) {
  DiskLoop loop;
  loop.trips = trips;
  loop.state = std::move(state);
  loop.record = std::move(record);
  loop.replayable = true;
  return loop;
}
DiskLoopRates rates_for(double step) {
  const Machine& machine = reference_machine();
  return {.step = step, .back = 3 * step, .out = *find_link(machine, 0, 1), .in = *find_link(machine, 1, 0)};
}

TEST(DiskCuts, AreWithinTheBytesAndTheFastestComesFirst) {
  for (const std::int64_t trips : {2, 3, 9, 200, 10'000, 1'000'000}) {
    for (const std::int64_t memory : {0, 5'000, 100'000, 10'000'000}) {
      for (const std::int64_t disk : {0, 4095, 4096, 100'000, 1'000'000'000}) {
        const DiskLoop loop = loop_of(trips, {8, 10'000}, {20'000, 8, 0});
        const std::vector<DiskCut> cuts = disk_cuts(loop, rates_for(1e-4), memory, disk, 256);
        EXPECT_TRUE(std::ranges::is_sorted(cuts, {}, &DiskCut::seconds));
        if (disk < 12'288) {
          EXPECT_TRUE(cuts.empty());
        }
        if (disk > 12'288 && trips >= 200) {
          EXPECT_FALSE(cuts.empty()) << trips << " " << memory << " " << disk;
        }
        for (const DiskCut& cut : cuts) {
          EXPECT_GE(cut.segments, 2);
          EXPECT_LE(cut.segments, std::min<std::int64_t>(trips, 256));
          EXPECT_GE(cut.again, 0);
          EXPECT_LT(cut.again, cut.segments);
          EXPECT_GT(cut.on_disk, 0);
          EXPECT_LE(cut.on_disk, disk);
          EXPECT_EQ(cut.on_disk % tier_alignment, 0);
          EXPECT_LE(cut.own, std::max<std::int64_t>(memory, loop.state_bytes()));
        }
      }
    }
  }
}

TEST(DiskCuts, MoreOfTheDiskIsNeverSlower) {
  const DiskLoop loop = loop_of(5000, {1 << 20}, {3 << 20});
  for (const double step : {1e-6, 1e-3, 1.0}) {
    for (const std::int64_t states : {4, 20, 300}) {
      double before = std::numeric_limits<double>::infinity();
      for (std::int64_t disk = 1; disk < 20'000; disk *= 4) {
        const std::vector<DiskCut> cuts = disk_cuts(loop, rates_for(step), states << 20, disk << 20, 256);
        if (cuts.empty()) continue;
        EXPECT_LE(cuts.front().seconds, before * 1.01) << step << " " << states << " " << disk;
        before = std::min(before, cuts.front().seconds);
      }
    }
  }
}

TEST(DiskCuts, WhatIsSmallerThanAPageOfMemoryIsNotWorthOne) {
  EXPECT_TRUE(disk_cuts(loop_of(1000, {8}, {8}), rates_for(1e-3), 64, 1 << 20, 256).empty());
}

TEST(DiskCuts, WhereTheDiskHoldsItAllNothingRunsAgain) {
  const std::vector<DiskCut> cuts =
      disk_cuts(loop_of(1000, {1 << 20}, {2 << 20}), rates_for(1.0), 64 << 20, std::int64_t{1} << 40, 256);
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front().again, 0);
  EXPECT_EQ(cuts.front().slots, 0) << "records";
}

}  // namespace
}  // namespace tidemark
