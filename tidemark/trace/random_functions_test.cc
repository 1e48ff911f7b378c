#include "tidemark/trace/random_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(RandomFunctions, DrawsHaveTheirMeans) {
  const std::int64_t n = 100000;
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor e = random_exponential(key(1), {n}, 2, dtype), g = random_gumbel(key(2), {n}, dtype);
    EXPECT_NEAR(mean(e).item(), 0.5, 0.01);
    EXPECT_NEAR(stddev(e).item(), 0.5, 0.01);
    EXPECT_GE(min(e).item(), 0);
    EXPECT_NEAR(mean(g).item(), 0.5772, 0.02);
    EXPECT_NEAR(var(g).item(), 3.14159 * 3.14159 / 6, 0.05);
    EXPECT_EQ(all_of(isfinite(g)).item(), 1);
  }
  EXPECT_EQ(random_gumbel(key(3), {4}, DType::bf16).dtype(), DType::bf16);
  EXPECT_EQ(random_gumbel(key(3), {0}).count(), 0);
  EXPECT_EQ(random_exponential(key(3), {}).to_vector(), random_exponential(key(3), {}).to_vector());
  EXPECT_EQ(code_of([] { random_exponential(key(1), {2}, 0); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { random_gumbel(key(1), {2}, DType::i32); }), ErrorCode::dtype_mismatch);
}

TEST(RandomFunctions, ClassesAreAsLikelyAsTheirLogitsTell) {
  const std::int64_t n = 40000;
  const Tensor logits = broadcast(log(tensor<double>({1, 0, 3, 6})), {n, 4});
  const std::vector<double> counts = bincount(random_categorical(key(5), logits), 4).to_vector();
  EXPECT_NEAR(counts[0] / n, 0.1, 0.01);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2] / n, 0.3, 0.01);
  EXPECT_NEAR(counts[3] / n, 0.6, 0.01);
  EXPECT_EQ(random_categorical(key(5), zeros({3, 2}), 0).shape(), (Shape{2}));
  EXPECT_EQ(code_of([] { random_categorical(key(5), scalar(1)); }), ErrorCode::index_out_of_range);
}

TEST(RandomFunctions, ChoosesWithAndWithoutReplacement) {
  std::vector<double> each = random_choice(key(7), 50, 50, false).to_vector();
  std::ranges::sort(each);
  EXPECT_EQ(each, arange(50).to_vector());
  const std::vector<double> counts = bincount(random_choice(key(8), 5, 50000), 5).to_vector();
  for (double count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(random_choice(key(8), 0, 0).count(), 0);
  EXPECT_EQ(code_of([] { random_choice(key(8), 0, 1); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { random_choice(key(8), 3, 4, false); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { random_choice(key(8), 3, -1); }), ErrorCode::bad_attribute);
}

TEST(RandomFunctions, ChoosesByWeight) {
  const Tensor weights = tensor<float>({0, 2, 0, 6, 0});
  const std::vector<double> counts = bincount(random_choice(key(9), weights, 40000), 5).to_vector();
  EXPECT_NEAR(counts[1], 10000, 400);
  EXPECT_NEAR(counts[3], 30000, 400);
  EXPECT_EQ(counts[0] + counts[2] + counts[4], 0);
  std::vector<double> two = random_choice(key(9), weights, 2, false).to_vector();
  std::ranges::sort(two);
  EXPECT_THAT(two, ElementsAre(1, 3));
  EXPECT_THAT(random_choice(key(9), tensor<double>({5}), 3).to_vector(), Each(0));
  EXPECT_EQ(code_of([&] { random_choice(key(9), reshape(weights, {5, 1}), 1); }), ErrorCode::shape_mismatch);
}

TEST(RandomFunctions, WeightsByWhichNothingCanBeDrawnAreAnError) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const bool replace : {true, false}) {
    for (const std::vector<double>& bad : std::vector<std::vector<double>>{
             {0, 0, 0}, {1, nan, 1}, {nan, nan, nan}, {1, inf, 0}, {2, -1, 3}, {-1, -2, -3}}) {
      EXPECT_EQ(code_of([&] { (void)random_choice(key(9), tensor(bad, {3}), 2, replace).to_vector(); }),
                ErrorCode::index_out_of_range)
          << replace << " " << ::testing::PrintToString(bad);
    }
    EXPECT_EQ(random_choice(key(9), zeros({3}), 0, replace).count(), 0);
    EXPECT_EQ(random_choice(key(9), zeros({0}), 0, replace).count(), 0);
  }
  const Tensor one = tensor<double>({0, 1, 0});
  EXPECT_EQ(code_of([&] { (void)random_choice(key(9), one, 2, false).to_vector(); }),
            ErrorCode::index_out_of_range)
      << "each at most once, and there is one";
}

}  // namespace
}  // namespace tidemark
