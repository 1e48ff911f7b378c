#include "tidemark/nn/moe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

constexpr std::int64_t tokens = 12, width = 8, hidden = 6, experts = 4;

SparseExperts layer_of(std::int64_t top, double capacity) {
  return SparseExperts::init(
      key(1), {.width = width, .hidden = hidden, .experts = experts, .top = top, .capacity = capacity});
}

// Every expert on every token, weighed by a mask of the router's choices.
Tensor dense_reference(const SparseExperts& layer, const Tensor& x) {
  const Tensor scores = matmul(x, layer.router);
  const auto [best, expert] = top_k(scores, layer.top);
  const Tensor weight = softmax(best);  // (tokens, top)
  const Tensor mask =
      sum(one_hot(expert, experts, DType::f32) * expand_dims(weight, -1), {1});  // (tokens, experts)
  const Tensor rows = broadcast(x, {experts, tokens, width});
  const Tensor made = matmul(silu(matmul(rows, layer.gate)) * matmul(rows, layer.up), layer.down);
  return sum(made * expand_dims(transpose(mask), -1), {0});
}

TEST(SparseExperts, WithRoomForAllEqualsTheDenseMixture) {
  const SparseExperts layer = layer_of(2, experts / 2.0);
  const Tensor x = random_normal(key(2), {tokens, width});
  const auto routed = [](const SparseExperts& l, Tensor in) { return sum(square(l(in).y)); };
  const auto dense = [](const SparseExperts& l, Tensor in) { return sum(square(dense_reference(l, in))); };
  const auto [y, dy] = value_and_grad<0, 1>(routed)(layer, x);
  const auto [z, dz] = value_and_grad<0, 1>(dense)(layer, x);
  EXPECT_NEAR(y.item(), z.item(), 1e-4 * std::abs(z.item()));
  const std::vector<Tensor> got = tensors_of(dy), expected = tensors_of(dz);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(max(abs(got[i] - expected[i])).item(), 1e-4 * (1 + max(abs(expected[i])).item())) << i;
  }
}

TEST(SparseExperts, DropsWhatComesAfterTheCapacity) {
  SparseExperts layer = layer_of(1, 1);  // 12 tokens, 4 experts: room for 3 each
  layer.router = zeros({width, experts});
  layer.router.at(all, 2) = 1;  // with positive tokens, everything goes to expert 2
  const SparseExperts::Result result = layer(random_uniform(key(2), {tokens, width}, 0.5, 1));
  for (std::int64_t t = 0; t < tokens; ++t) {
    EXPECT_EQ(max(abs(result.y.at(t))).item() > 0, t < 3) << t;
  }
  EXPECT_GT(result.balance.item(), 2) << "one expert has all of the tokens and most of the probability";
}

TEST(SparseExperts, ABalancedRouterHasABalanceOfOne) {
  SparseExperts layer = layer_of(experts, 1);
  layer.router = zeros({width, experts});
  EXPECT_NEAR(layer(random_normal(key(2), {tokens, width})).balance.item(), 1, 1e-6);
}

}  // namespace
}  // namespace tidemark::nn
