// Small models made of layers: for the demo, the zoo of the command line, golden plans and benchmarks.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct Mlp {
  std::vector<Linear> layers;
  TM_FIELDS(Mlp, layers)

  static Mlp init(const Tensor& key, const std::vector<std::int64_t>& widths);
  Tensor operator()(const Tensor& x) const;  // relu between layers
};

struct TransformerBlock {
  LayerNorm norm1, norm2;
  SelfAttention attention;
  Linear up, down;
  TM_FIELDS(TransformerBlock, norm1, norm2, attention, up, down)

  static TransformerBlock init(const Tensor& key, std::int64_t width);
  Tensor operator()(const Tensor& x, std::int64_t heads) const;  // (B, T, width), causal
};

struct Gpt {
  Tensor token_table;     // (vocabulary, width), tied with the output
  Tensor position_table;  // (context, width)
  std::vector<TransformerBlock> blocks;
  LayerNorm norm;
  TM_FIELDS(Gpt, token_table, position_table, blocks, norm)

  static Gpt init(const Tensor& key, std::int64_t layers, std::int64_t width, std::int64_t vocabulary,
                  std::int64_t context);
  Tensor operator()(const Tensor& tokens, std::int64_t heads) const;  // (B, T) → logits (B, T, vocabulary)
};

struct ResidualBlock {
  Conv2d conv1, conv2;
  BatchNorm2d norm1, norm2;
  TM_FIELDS(ResidualBlock, conv1, conv2, norm1, norm2)

  static ResidualBlock init(const Tensor& key, std::int64_t channels);
  Tensor operator()(const Tensor& x) const;  // (N, channels, H, W)
};

struct ConvNet {
  Conv2d stem;
  std::vector<ResidualBlock> blocks;
  Linear head;
  TM_FIELDS(ConvNet, stem, blocks, head)

  static ConvNet init(const Tensor& key, std::int64_t blocks, std::int64_t channels, std::int64_t classes);
  Tensor operator()(const Tensor& images) const;  // (N, 3, H, W) → logits (N, classes)
};

// The mean cross entropy of logits (…, classes) and integer labels (…).
Tensor classification_loss(const Tensor& logits, const Tensor& labels);

}  // namespace tidemark::nn
