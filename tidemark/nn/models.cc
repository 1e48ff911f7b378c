#include "tidemark/nn/models.h"

namespace tidemark::nn {

Mlp Mlp::init(const Tensor& key, const std::vector<std::int64_t>& widths) {
  Mlp mlp;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    mlp.layers.push_back(Linear::init(fold_in(key, static_cast<std::int64_t>(i)), widths[i], widths[i + 1]));
  }
  return mlp;
}
Tensor Mlp::operator()(const Tensor& x) const {
  Tensor h = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = layers[i](h);
    if (i + 1 < layers.size()) h = relu(h);
  }
  return h;
}

TransformerBlock TransformerBlock::init(const Tensor& key, std::int64_t width) {
  const std::vector<Tensor> keys = split_key(key, 3);
  return {LayerNorm::init(width), LayerNorm::init(width), SelfAttention::init(keys[0], width),
          Linear::init(keys[1], width, 4 * width), Linear::init(keys[2], 4 * width, width)};
}
Tensor TransformerBlock::operator()(const Tensor& x, std::int64_t heads) const {
  const Tensor h = x + attention(norm1(x), heads, true);
  return h + down(gelu(up(norm2(h))));
}

Gpt Gpt::init(const Tensor& key, std::int64_t layers, std::int64_t width, std::int64_t vocabulary,
              std::int64_t context) {
  const std::vector<Tensor> keys = split_key(key, 3);
  Gpt gpt;
  gpt.token_table = random_normal(keys[0], {vocabulary, width}, 0, 0.02);
  gpt.position_table = random_normal(keys[1], {context, width}, 0, 0.02);
  for (std::int64_t i = 0; i < layers; ++i)
    gpt.blocks.push_back(TransformerBlock::init(fold_in(keys[2], i), width));
  gpt.norm = LayerNorm::init(width);
  return gpt;
}
Tensor Gpt::operator()(const Tensor& tokens, std::int64_t heads) const {
  const std::int64_t length = tokens.size(-1);
  Tensor h = embedding(token_table, tokens) + position_table.at(Range{0, length});
  for (const TransformerBlock& block : blocks) h = block(h, heads);
  return matmul(norm(h), transpose(token_table));
}

ResidualBlock ResidualBlock::init(const Tensor& key, std::int64_t channels) {
  const std::vector<Tensor> keys = split_key(key, 2);
  return {Conv2d::init(keys[0], channels, channels, 3), Conv2d::init(keys[1], channels, channels, 3),
          BatchNorm2d::init(channels), BatchNorm2d::init(channels)};
}
Tensor ResidualBlock::operator()(const Tensor& x) const {
  const Tensor h = relu(norm1(conv1(x)));
  return relu(norm2(conv2(h)) + x);
}

ConvNet ConvNet::init(const Tensor& key, std::int64_t blocks, std::int64_t channels, std::int64_t classes) {
  const std::vector<Tensor> keys = split_key(key, 3);
  ConvNet net;
  net.stem = Conv2d::init(keys[0], 3, channels, 3);
  for (std::int64_t i = 0; i < blocks; ++i)
    net.blocks.push_back(ResidualBlock::init(fold_in(keys[1], i), channels));
  net.head = Linear::init(keys[2], channels, classes);
  return net;
}
Tensor ConvNet::operator()(const Tensor& images) const {
  Tensor h = relu(stem(images));
  for (const ResidualBlock& block : blocks) h = block(h);
  return head(mean(h, {2, 3}));
}

Tensor classification_loss(const Tensor& logits, const Tensor& labels) {
  return mean(cross_entropy(logits, labels));
}

}  // namespace tidemark::nn
