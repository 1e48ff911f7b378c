#include "tidemark/nn/layers.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
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

TEST(Dropout, RefusesARateOnTheLineOfItsUse) {
  const Tensor x = ones({3});
  EXPECT_EQ(Dropout{}(x).to_vector(), x.to_vector());
  std::uint32_t line = 0;
  try {
    line = __LINE__, Dropout{1.5, key(1)}(x);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
}

TEST(SelfAttention, DropsNothingUnlessAsked) {
  const SelfAttention layer = SelfAttention::init(key(1), 8);
  const Tensor x = random_normal(key(2), {2, 5, 8});
  EXPECT_EQ(layer(x, 2, true).to_vector(), layer(x, 2, true, Dropout{0, key(3)}).to_vector());
  EXPECT_NE(layer(x, 2, true).to_vector(), layer(x, 2, true, Dropout{0.5, key(3)}).to_vector());
  EXPECT_EQ(layer(x, 2, true, Dropout{0.5, key(3)}).to_vector(),
            layer(x, 2, true, Dropout{0.5, key(3)}).to_vector());
}

TEST(SelfAttention, ReplaysWhatItDroppedInAnyBudget) {
  const auto loss = [](const std::vector<SelfAttention>& layers, Tensor x, Tensor drops) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      x = x + layers[i](x, 2, true, Dropout{0.3, fold_in(drops, static_cast<std::int64_t>(i))});
    return mean(square(x));
  };
  std::vector<SelfAttention> layers;
  for (int i = 0; i < 3; ++i) layers.push_back(SelfAttention::init(key(i), 16));
  const Tensor x = random_normal(key(7), {2, 70, 16}), drops = key(8);
  constexpr Effort little = 0.005;
  const auto free = compile(value_and_grad(loss), {.effort = little});
  const auto [free_value, free_gradient] = free(layers, x, drops);
  const Bytes smallest = free.smallest(layers, x, drops).memory;
  ASSERT_LT(smallest, free.plan().peak());
  const auto step = compile(value_and_grad(loss), {.memory = smallest, .effort = little});
  const auto [value, gradient] = step(layers, x, drops);
  EXPECT_EQ(value.item(), free_value.item());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(gradient[i].qkv.weight.to_vector(), free_gradient[i].qkv.weight.to_vector());
    EXPECT_EQ(gradient[i].out.bias.to_vector(), free_gradient[i].out.bias.to_vector());
  }
}

TEST(SelfAttention, TakesMemoryLinearInTheLength) {
  const SelfAttention layer = SelfAttention::init(key(1), 16);
  const auto peak = [&](std::int64_t length) {
    const auto loss = [](const SelfAttention& p, Tensor x, Tensor drops) {
      return sum(p(x, 2, true, Dropout{0.1, drops}));
    };
    const auto step = compile(value_and_grad(loss));
    step(layer, random_normal(key(2), {1, length, 16}), key(3));
    return static_cast<double>(step.plan().peak().count);
  };
  EXPECT_LT(peak(1024), 2.1 * peak(512));
}

TEST(ConvNorm, KnowsItsChannelsByItself) {
  const ConvNorm one = ConvNorm::init(key(1), 1, 6, 3), each = ConvNorm::init(key(1), 6, 6, 3, 1, 6);
  EXPECT_EQ(each.groups, 6);
  EXPECT_EQ(each(ones({2, 6, 4, 4})).shape(), (Shape{2, 6, 4, 4}));
  for (const std::int64_t channels : {2, 3, 6}) {
    EXPECT_EQ(testing::code_of([&] {
                one(ones({2, channels, 4, 4}));
              }),
              ErrorCode::shape_mismatch)
        << channels;
  }
  for (const std::int64_t channels : {1, 3, 12}) {
    EXPECT_EQ(testing::code_of([&] {
                each(ones({2, channels, 4, 4}));
              }),
              ErrorCode::shape_mismatch)
        << channels;
  }
  EXPECT_EQ(testing::code_of([&] { one(ones({1, 4, 4})); }), ErrorCode::shape_mismatch);
  for (const std::int64_t groups : {-1, 0, 4}) {
    EXPECT_EQ(testing::code_of([&] { ConvNorm::init(key(1), 6, 6, 3, 1, groups); }),
              ErrorCode::bad_attribute);
  }
}

TEST(Conv2d, NamesTheChannelsAndTheLine) {
  const Conv2d layer = Conv2d::init(key(1), 2, 6, 3);
  const Tensor images = ones({1, 3, 4, 4});
  std::uint32_t line = 0;
  try {
    line = __LINE__, layer(images);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(error.parts().where.line, line);
    EXPECT_NE(error.parts().what.find("2 channels"), std::string::npos) << error.what();
    EXPECT_NE(error.parts().what.find("3 channels"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::nn
