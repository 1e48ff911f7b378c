#include "tidemark/nn/transformer.h"

namespace tidemark::nn {

TransformerBlock TransformerBlock::init(const Tensor& key, std::int64_t width) {
  const std::vector<Tensor> keys = split_key(key, 3);
  return {LayerNorm::init(width), LayerNorm::init(width), SelfAttention::init(keys[0], width),
          Linear::init(keys[1], width, 4 * width), Linear::init(keys[2], 4 * width, width)};
}
Tensor TransformerBlock::operator()(const Tensor& x, std::int64_t heads, bool causal,
                                    const Dropout& dropout) const {
  const Dropout after_attention = dropout.use(1);
  const Tensor normed = norm1(x);
  const Tensor h = x + after_attention(attention(normed, heads, causal, dropout.use(0)));
  const Dropout after_mlp = dropout.use(2);
  return h + after_mlp(down(gelu(up(norm2(h)))));
}

}  // namespace tidemark::nn
