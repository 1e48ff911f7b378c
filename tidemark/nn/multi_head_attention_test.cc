#include "tidemark/nn/multi_head_attention.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/nn/encoder_decoder.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

template <class Tree>
Tree in_f64(const Tree& tree) {
  return map_tree([](const Tensor& x) { return cast(x, DType::f64); }, tree);
}
Tensor sequence(int seed, const Shape& shape) { return random_normal(key(seed), shape, 0, 1, DType::f64); }
double distance(const Tensor& x, const Tensor& y) { return max(abs(x - y)).item(); }

MultiHeadAttention little(std::int64_t kv_heads = 0) {
  MultiHeadAttention layer = in_f64(MultiHeadAttention::init(key(1), 8, 4, kv_heads));
  layer.k.bias = sequence(11, layer.k.bias.shape());
  layer.v.bias = sequence(12, layer.v.bias.shape());
  layer.out.bias = sequence(13, layer.out.bias.shape());
  return layer;
}

// By products and a softmax, with a matrix of scores.
Tensor by_definition(const MultiHeadAttention& p, const Tensor& x, const Tensor& from,
                     const Tensor& allowed) {
  const std::int64_t group = p.heads / p.kv_heads;
  Tensor queries = split_heads(p.q(x), p.heads), keys = split_heads(p.k(from), p.kv_heads),
         values = split_heads(p.v(from), p.kv_heads), result;
  std::vector<Tensor> heads;
  for (std::int64_t h = 0; h < p.heads; ++h) {
    const Tensor q = queries.at(all, h), k = keys.at(all, h / group), v = values.at(all, h / group);
    const Tensor scores = matmul(q, swap_axes(k, 1, 2)) / std::sqrt(2.0);
    const Tensor seen = broadcast(allowed, scores.shape());
    heads.push_back(matmul(softmax(select(seen, scores, full(scores.shape(), -1e300, DType::f64))), v));
  }
  return p.out(concat(heads, -1));
}

TEST(MultiHeadAttention, IsItsDefinition) {
  const Tensor x = sequence(2, {2, 5, 8}), from = sequence(3, {2, 7, 8});
  const Tensor everything = ones({2, 5, 7}, DType::f64) > 0;
  for (const int kv_heads : {4, 2, 1}) {
    const MultiHeadAttention layer = little(kv_heads);
    EXPECT_LT(distance(layer(x, from), by_definition(layer, x, from, everything)), 1e-12);
    const Tensor earlier = tril(ones({5, 5})) > 0;
    EXPECT_LT(distance(layer(x, {.causal = true}), by_definition(layer, x, x, earlier)), 1e-12);
  }
}

TEST(MultiHeadAttention, DoesNotLookAtPadding) {
  const MultiHeadAttention layer = little();
  const Tensor x = sequence(2, {2, 5, 8});
  Tensor from = sequence(3, {2, 7, 8});
  const Tensor present = arange(7) < reshape(tensor({std::int64_t{7}, std::int64_t{4}}), {2, 1});
  const Tensor y = layer(x, from, {.key_mask = present});
  const Tensor cut = layer(x.at(Range{1, 2}), from.at(Range{1, 2}, Range{0, 4}));
  EXPECT_LT(distance(y.at(Range{1, 2}), cut), 1e-14);
  from.at(1, Range{4, 7}) = 1e6;
  EXPECT_EQ(layer(x, from, {.key_mask = present}).to_vector(), y.to_vector());
  // With a mask as well, what both allow.
  const Tensor mask = arange(7) != 2, both = present && mask;
  EXPECT_LT(distance(layer(x, from, {.mask = mask, .key_mask = present}),
                     by_definition(layer, x, from, reshape(both, {2, 1, 7}))),
            1e-12);
  // A query that may look nowhere.
  const Tensor nowhere = zeros({2, 7}) > 0;
  const Tensor nothing = layer(x, from, {.key_mask = nowhere});
  EXPECT_LT(distance(nothing, broadcast(layer.out.bias, nothing.shape())), 1e-14);
}

TEST(MultiHeadAttention, ReadsACacheAsItReadsAll) {
  const MultiHeadAttention layer = little(2);
  const Tensor x = sequence(2, {2, 6, 8});
  const Rotary rotary = Rotary::of(6, 2, DType::f64);
  for (const bool turns : {false, true}) {
    AttendOptions options{.causal = true};
    if (turns) options.rotary = &rotary;
    const Tensor expected = layer(x, options);
    KeyValueCache cache = layer.cache(2, 9);
    for (std::int64_t i = 0; i < 6; i += 2) {
      const Tensor position = scalar(i, DType::i64);
      const Rotary here = rotary.at(positions_from(position, 2));
      const auto [y, next] = layer(x.at(all, Range{i, i + 2}), cache, position, turns ? &here : nullptr);
      EXPECT_LT(distance(y, expected.at(all, Range{i, i + 2})), 1e-13);
      cache = next;
    }
  }
}

TEST(MultiHeadAttention, HasItsGradient) {
  const MultiHeadAttention layer = little(2);
  const Tensor x = sequence(2, {2, 3, 8}), from = sequence(3, {2, 4, 8});
  const Tensor present = arange(4) < reshape(tensor({std::int64_t{4}, std::int64_t{2}}), {2, 1});
  const auto loss = [&](std::tuple<MultiHeadAttention, Tensor, Tensor> p) {
    return sum(square(std::get<0>(p)(std::get<1>(p), std::get<2>(p), {.key_mask = present})));
  };
  testing::expect_gradient(loss, std::tuple(layer, x, from));
}

TEST(MultiHeadAttention, TellsWhatIsWrong) {
  EXPECT_EQ(testing::code_of([] { MultiHeadAttention::init(key(1), 8, 3); }), ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([] { MultiHeadAttention::init(key(1), 8, 4, 3); }), ErrorCode::bad_attribute);
  const MultiHeadAttention layer = little();
  const Tensor x = sequence(2, {2, 5, 8});
  EXPECT_EQ(testing::code_of([&] { layer(x, sequence(2, {3, 5, 8})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { layer(sequence(2, {5, 8})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { layer(x, {.key_mask = zeros({2, 4}) > 0}); }), ErrorCode::shape_mismatch);
}

TransformerConfig little_config(bool pre_norm) {
  return {.layers = 2, .width = 8, .heads = 2, .hidden = 12, .pre_norm = pre_norm};
}

TEST(TransformerEncoder, NormalisesBehindItsPartsOrBefore) {
  const Tensor x = sequence(2, {2, 5, 8}) * 10;
  for (const bool pre_norm : {false, true}) {
    const TransformerEncoder encoder = in_f64(TransformerEncoder::init(key(1), little_config(pre_norm)));
    EXPECT_EQ(encoder.last.size(), pre_norm ? 1u : 0u);
    const Tensor y = encoder(x);
    for (double m : mean(y, {-1}).to_vector()) EXPECT_NEAR(m, 0, 1e-12);
    const auto loss = [&](const TransformerEncoder& p) { return sum(sin(p(x))); };
    testing::expect_gradient(loss, encoder, 1e-6);
  }
}

TEST(TransformerEncoder, DropsByItsKeyAlone) {
  const TransformerEncoder encoder = in_f64(TransformerEncoder::init(key(1), little_config(false)));
  const Tensor x = sequence(2, {2, 5, 8});
  const auto dropped = [&](int seed) { return encoder(x, {.dropout = {0.3, key(seed)}}).to_vector(); };
  EXPECT_EQ(dropped(1), dropped(1));
  EXPECT_NE(dropped(1), dropped(2));
  EXPECT_NE(dropped(1), encoder(x).to_vector());
}

TEST(TransformerDecoder, SeesNoLaterTokensAndAllOfTheMemory) {
  for (const bool pre_norm : {false, true}) {
    const TransformerDecoder decoder = in_f64(TransformerDecoder::init(key(1), little_config(pre_norm)));
    Tensor x = sequence(2, {1, 5, 8}), memory = sequence(3, {1, 4, 8});
    const Tensor y = decoder(x, memory);
    x.at(0, 4, 0) += 1;
    const Tensor later = decoder(x, memory);
    EXPECT_EQ(later.at(all, Range{0, 4}).to_vector(), y.at(all, Range{0, 4}).to_vector());
    memory.at(0, 3, 0) += 1;
    EXPECT_NE(decoder(x, memory).at(0, 0).to_vector(), y.at(0, 0).to_vector());
    const auto loss = [&](std::pair<TransformerDecoder, Tensor> p) { return sum(sin(p.first(x, p.second))); };
    testing::expect_gradient(loss, std::pair(decoder, memory), 1e-6);
  }
}

}  // namespace
}  // namespace tidemark::nn
