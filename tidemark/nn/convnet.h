// A small residual network of one width and one resolution, for demonstrations and benchmarks.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct ResidualBlock {
  Conv2d conv1, conv2;
  BatchNorm2d norm1, norm2;
  TM_FIELDS(ResidualBlock, conv1, conv2, norm1, norm2)

  static ResidualBlock init(const Tensor& key, std::int64_t channels,
                            SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (N, channels, H, W)
};

struct ConvNet {
  Conv2d stem;
  std::vector<ResidualBlock> blocks;
  Linear head;
  TM_FIELDS(ConvNet, stem, blocks, head)

  static ConvNet init(const Tensor& key, std::int64_t blocks, std::int64_t channels, std::int64_t classes,
                      SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& images) const;  // (N, 3, H, W) → logits (N, classes)
};

}  // namespace tidemark::nn
