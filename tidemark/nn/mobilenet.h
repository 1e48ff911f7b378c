// MobileNetV2 (Sandler et al. 2018): inverted residuals, which widen by 1 x 1, filter each channel for itself
// by 3 x 3 and project back by 1 x 1 without an activation.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct MobileNetStage {
  std::int64_t expansion, channels, blocks, stride;
};

struct MobileNetConfig {
  std::int64_t stem = 32, last = 1280, classes = 1000;
  std::vector<MobileNetStage> stages = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  double dropout = 0.2;
};

struct InvertedResidual {
  std::vector<ConvNorm> widen;  // one, or none without expansion
  ConvNorm filter, project;
  TM_FIELDS(InvertedResidual, widen, filter, project)

  static InvertedResidual init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t stride,
                               std::int64_t expansion, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, NormPass& pass) const;  // adds x where the shapes agree
};

struct MobileNet {
  ConvNorm stem, last;
  std::vector<InvertedResidual> blocks;
  Linear head;
  double dropout_rate = 0;
  TM_FIELDS(MobileNet, stem, last, blocks, head, dropout_rate)

  static MobileNet init(const Tensor& key, const MobileNetConfig& config,
                        SourceLine where = std::source_location::current());
  // (N, 3, H, W) → logits (N, classes), by the statistics of the batch; `key` chooses what is dropped.
  Tensor operator()(const Operand& images, const Tensor& key) const;
  // The same, and running statistics moved towards the batch's; and by running statistics (batch_norm.h),
  // where nothing is dropped.
  std::pair<Tensor, NormStatistics> train(const Operand& images, const Tensor& key,
                                          const NormStatistics& running) const;
  Tensor infer(const Operand& images, const NormStatistics& running) const;
  std::vector<BatchNorm2d> norms() const;  // in the order in which they are used

 private:
  Tensor features(const Operand& images, NormPass& pass) const;  // (N, last)
};

}  // namespace tidemark::nn
