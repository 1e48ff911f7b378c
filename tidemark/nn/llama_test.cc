#include "tidemark/nn/llama.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

TEST(Rotary, MakesProductsDependOnTheDistanceAlone) {
  const Rotary rotary = Rotary::of(8, 6, DType::f32);
  const auto turned = [&](std::int64_t seed) {  // one vector at every position: (8, 6)
    const Tensor row = random_normal(key(seed), {1, 1, 1, 6});
    return reshape(rotary(broadcast(row, {1, 1, 8, 6})), {8, 6});
  };
  const Tensor products = matmul(turned(1), transpose(turned(2)));  // (query position, key position)
  EXPECT_NEAR(products.at(0, 3).item(), products.at(4, 7).item(), 1e-5);
  EXPECT_NEAR(products.at(5, 2).item(), products.at(3, 0).item(), 1e-5);
  EXPECT_GT(std::abs(products.at(0, 3).item() - products.at(0, 1).item()), 1e-3);
}

TEST(Llama, SeesNoLaterTokens) {
  const Llama llama = Llama::init(
      key(0), {.layers = 2, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .vocabulary = 11});
  Tensor tokens = tensor(std::vector<std::int32_t>{1, 2, 3, 4, 5}, {1, 5});
  const Tensor before = llama(tokens);
  tokens.at(0, 4) = 9;
  const Tensor after = llama(tokens);
  EXPECT_EQ(before.shape(), (Shape{1, 5, 11}));
  EXPECT_EQ(before.at(all, Range{0, 4}).to_vector(), after.at(all, Range{0, 4}).to_vector());
  EXPECT_NE(before.at(all, 4).to_vector(), after.at(all, 4).to_vector());
}

}  // namespace
}  // namespace tidemark::nn
