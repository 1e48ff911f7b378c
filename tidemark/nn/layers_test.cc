#include "tidemark/nn/layers.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

TEST(UpConv2d, SpreadsEachPixelOverItsWindow) {
  const UpConv2d up{tensor(std::vector<float>{1, 2, 3, 4}, {1, 1, 2, 2}), tensor({0.5f})};
  const Tensor y = up(tensor(std::vector<float>{1, 10, 100, 1000}, {1, 1, 2, 2}));
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(y.to_vector(), (std::vector<double>{1.5, 2.5, 10.5, 20.5, 3.5, 4.5, 30.5, 40.5,  //
                                                100.5, 200.5, 1000.5, 2000.5, 300.5, 400.5, 3000.5, 4000.5}));
}

TEST(ConvNorm, WithAsManyGroupsAsChannelsKeepsChannelsApart) {
  const ConvNorm layer = ConvNorm::init(key(1), 3, 3, 3, 2, 3);
  EXPECT_EQ(layer.weight.shape(), (Shape{3, 1, 3, 3}));
  const Tensor x = random_normal(key(2), {2, 3, 7, 7});
  Tensor other = x;
  other.at(all, 0) = other.at(all, 0) * 3 + square(other.at(all, 0));
  const Tensor y = layer(x), z = layer(other);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4, 4}));
  EXPECT_NE(y.at(all, 0).to_vector(), z.at(all, 0).to_vector());
  EXPECT_EQ(y.at(all, 1).to_vector(), z.at(all, 1).to_vector());
}

TEST(ConvNorm, GivesChannelsOfMeanZeroAndVarianceOne) {
  const Tensor y = ConvNorm::init(key(1), 3, 4, 1)(random_normal(key(2), {8, 3, 5, 5}, 2, 3));
  for (double m : mean(y, {0, 2, 3}).to_vector()) EXPECT_NEAR(m, 0, 1e-5);
  for (double v : var(y, {0, 2, 3}).to_vector()) EXPECT_NEAR(v, 1, 1e-3);
}

}  // namespace
}  // namespace tidemark::nn
