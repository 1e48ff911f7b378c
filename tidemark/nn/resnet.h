// Residual networks (He et al. 2016) in the form used since: the stride of a bottleneck sits in its 3 x 3
// convolution.
//
//   stem 7 x 7 / 2, max pool 3 x 3 / 2 → four stages, each halving the side and doubling the channels → mean
//   → linear
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct ResNetConfig {
  std::vector<std::int64_t> depths = {2, 2, 2, 2};  // blocks of each stage; this is ResNet-18
  bool bottleneck =
      false;  // blocks of 1 x 1, 3 x 3, 1 x 1 with four times the channels instead of 3 x 3 twice
  std::int64_t width = 64, classes = 1000;
  bool small_images = false;  // a stem of 3 x 3 without stride or pooling, as for images of 32 x 32
};

struct ResNetBlock {
  std::vector<ConvNorm> convs;     // relu between them
  std::vector<ConvNorm> shortcut;  // one, where the shape changes; else none
  TM_FIELDS(ResNetBlock, convs, shortcut)

  static ResNetBlock init(const Tensor& key, std::int64_t in, std::int64_t width, std::int64_t stride,
                          bool bottleneck, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, NormPass& pass) const;
};

struct ResNet {
  ConvNorm stem;
  std::vector<ResNetBlock> blocks;
  Linear head;
  TM_FIELDS(ResNet, stem, blocks, head)

  static ResNet init(const Tensor& key, const ResNetConfig& config,
                     SourceLine where = std::source_location::current());
  // (N, 3, H, W) → logits (N, classes), by the statistics of the batch.
  Tensor operator()(const Operand& images) const;
  // The same, and running statistics moved towards the batch's; and by running statistics (batch_norm.h).
  std::pair<Tensor, NormStatistics> train(const Operand& images, const NormStatistics& running) const;
  Tensor infer(const Operand& images, const NormStatistics& running) const;
  std::vector<BatchNorm2d> norms() const;  // in the order in which they are used

 private:
  Tensor forward(const Operand& images, NormPass& pass) const;
};

}  // namespace tidemark::nn
