// Buffers of whole training steps are packed within one percent of the bound.
#include <gtest/gtest.h>

#include "tests/support/training_buffers.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/pack.h"

namespace tidemark {
namespace {

using tidemark::testing::training_buffers;
using tidemark::testing::TrainingShape;

class PackTraining : public ::testing::TestWithParam<TrainingShape> {};

TEST_P(PackTraining, TwentyThousandBuffersAreWithinAPercent) {
  const std::vector<PackItem> items = training_buffers(GetParam(), 20'000, 1);
  EXPECT_GT(items.size(), 19'000u);
  const std::int64_t goal = max_load(items) + max_load(items) / 100;
  const PackResult result = pack(items, {.capacity = goal, .work = 40'000'000'000});
  EXPECT_FALSE(check_packing(items, result.offsets));
  EXPECT_LE(result.height, goal);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PackTraining,
                         ::testing::Values(TrainingShape::transformer, TrainingShape::convnet,
                                           TrainingShape::unet),
                         [](const auto& param) {
                           switch (param.param) {
                             case TrainingShape::transformer:
                               return "transformer";
                             case TrainingShape::convnet:
                               return "convnet";
                             case TrainingShape::unet:
                               return "unet";
                             case TrainingShape::mixed:
                               break;
                           }
                           return "mixed";
                         });

}  // namespace
}  // namespace tidemark
