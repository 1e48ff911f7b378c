#include "tidemark/optim/clip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

using List = std::vector<Tensor>;

// Its gradient is `slopes`.
Tensor loss(const List& w, const List& slopes) {
  return sum(cast(w[0], DType::f32) * slopes[0]) + sum(w[1] * slopes[1]);
}
const List start = {zeros({2}), zeros({1, 2})};
const Sgd plain{.lr = 1};

std::vector<double> moved(const List& parameters) {
  std::vector<double> numbers;
  for (const Tensor& w : parameters)
    for (const double value : w.to_vector()) numbers.push_back(-value);
  return numbers;
}

TEST(Clip, TheNormOfAllGradientsTogetherIsAtMostAsAsked) {
  const List slopes = {tensor<float>({2, -4}), tensor(std::vector<float>{5, 6}, {1, 2})};  // norm 9
  for (const auto& [most, factor] : {std::pair(3.0, 3 / (9 + 1e-6)), std::pair(9.5, 1.0)}) {
    const auto optimizer = clip_norm(most, plain);
    const auto train = compile(step(optimizer, loss), {.donate = {0}});
    const List begin = {zeros({2}), zeros({1, 2})};
    const std::vector<double> got = moved(train(optimizer.init(begin), slopes).first.parameters);
    const std::vector<double> expected = {2 * factor, -4 * factor, 5 * factor, 6 * factor};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  }
}

TEST(Clip, ByValueEachNumberIsCutAlone) {
  const auto optimizer = clip_value(0.5, plain);
  const List slopes = {tensor<float>({0.25f, -3}), tensor(std::vector<float>{INFINITY, -0.5f}, {1, 2})};
  EXPECT_EQ(moved(step(optimizer, loss)(optimizer.init(start), slopes).first.parameters),
            (std::vector<double>{0.25, -0.5, 0.5, -0.5}));
}

TEST(Clip, GradientsOfSixteenBitsDoNotOverflowInTheNorm) {
  const auto optimizer = clip_norm(1, plain);
  const List half = {cast(zeros({2}), DType::f16), zeros({1, 2})};
  const List slopes = {tensor<float>({30000, 40000}), zeros({1, 2})};  // squares are beyond f16
  const auto state = step(optimizer, loss)(optimizer.init(half), slopes).first;
  EXPECT_NEAR(state.parameters[0].to_vector()[0], -0.6, 1e-3);
  EXPECT_NEAR(state.parameters[0].to_vector()[1], -0.8, 1e-3);
}

TEST(Clip, NothingToClipToIsRefused) {
  for (const double most : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(clip_norm(most, plain), Error);
    EXPECT_THROW(clip_value(most, plain), Error);
  }
}

}  // namespace
}  // namespace tidemark::optim
