// The pre-norm transformer block that GPT-2 and ViT are made of: attention, then a feed-forward of four times
// the width.
#pragma once
#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct TransformerBlock {
  LayerNorm norm1, norm2;
  SelfAttention attention;
  Linear up, down;
  TM_FIELDS(TransformerBlock, norm1, norm2, attention, up, down)

  static TransformerBlock init(const Tensor& key, std::int64_t width);
  // (B, T, width). Dropped: probabilities, and what each half adds to x.
  Tensor operator()(const Tensor& x, std::int64_t heads, bool causal = true,
                    const Dropout& dropout = {}) const;
};

}  // namespace tidemark::nn
