// A small residual network of one width and one resolution, for demonstrations and benchmarks.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

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

}  // namespace tidemark::nn
