#include "tidemark/nn/models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tiny_models.h"

namespace tidemark::nn {
namespace {

TEST(Models, TinyOnesLearn) {
  for (const tiny::TinyModel& model : tiny::all()) {
    Program program(model.step, {}, default_device());
    const std::vector<double> losses = tiny::losses(program, model, 8);
    for (double loss : losses) ASSERT_TRUE(std::isfinite(loss)) << model.name;
    EXPECT_LT(losses.back(), losses.front()) << model.name;
    EXPECT_EQ(program.arena_high_water(), program.plan().arena_bytes) << model.name;
  }
}

TEST(Models, TinyOnesRepeatBitByBit) {
  for (const tiny::TinyModel& model : tiny::all()) {
    Program program(model.step, {}, default_device());
    const std::vector<double> once = tiny::losses(program, model, 3);
    EXPECT_EQ(tiny::losses(program, model, 3), once) << model.name;
  }
}

}  // namespace
}  // namespace tidemark::nn
