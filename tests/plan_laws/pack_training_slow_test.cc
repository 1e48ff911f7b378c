// The same for 60,000 buffers, and for sets without any structure.
#include <gtest/gtest.h>

#include "tests/support/training_buffers.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/pack.h"

namespace tidemark {
namespace {

using tidemark::testing::training_buffers;
using tidemark::testing::TrainingShape;

void expect_within(double percent, TrainingShape shape, int count, std::uint64_t seed) {
  const std::vector<PackItem> items = training_buffers(shape, count, seed);
  const double bound = static_cast<double>(max_load(items));
  const std::int64_t goal = static_cast<std::int64_t>(bound * (1 + percent / 100));
  const PackResult result = pack(items, {.capacity = goal, .work = 100'000'000'000});
  EXPECT_FALSE(check_packing(items, result.offsets));
  EXPECT_LE(result.height, goal) << count << " buffers, seed " << seed;
}

TEST(PackTraining, SixtyThousandBuffersAreWithinAPercent) {
  expect_within(1, TrainingShape::transformer, 60'000, 2);
  expect_within(1, TrainingShape::convnet, 60'000, 3);
  expect_within(1, TrainingShape::unet, 60'000, 4);
}

TEST(PackTraining, MixedLifetimesAreWithinAPercentOrTwo) {
  expect_within(1, TrainingShape::mixed, 20'000, 1);
  expect_within(2, TrainingShape::mixed, 60'000, 2);
}

}  // namespace
}  // namespace tidemark
