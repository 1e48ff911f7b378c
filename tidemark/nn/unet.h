// U-Net (Ronneberger et al. 2015) with padded convolutions and batch norm, as it is mostly built today: down
// by max pools, up by transposed convolutions, and a long skip from each resolution to its mirror image.
//
//   x ─▶ [64] ───────────────────────────▶ [64] ─▶ logits per pixel
//          └▶ [128] ──────────────▶ [128] ─┘
//               └▶ … ─▶ [1024] ─▶ … ─┘
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct UNetConfig {
  std::int64_t channels = 3, classes = 2;
  std::int64_t width = 64,
               levels = 4;  // the side is halved `levels` times: it must be a multiple of 2^levels
};

struct DoubleConv {
  ConvNorm first, second;
  TM_FIELDS(DoubleConv, first, second)

  static DoubleConv init(const Tensor& key, std::int64_t in, std::int64_t out,
                         SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, NormPass& pass) const;
};

struct UNet {
  std::vector<DoubleConv> down;  // levels + 1, the last at the bottom
  std::vector<UpConv2d> rise;    // from the bottom up
  std::vector<DoubleConv> up;
  Conv2d head;
  TM_FIELDS(UNet, down, rise, up, head)

  static UNet init(const Tensor& key, const UNetConfig& config,
                   SourceLine where = std::source_location::current());
  // (N, channels, H, W) → logits (N, H, W, classes), by the statistics of the batch.
  Tensor operator()(const Operand& images) const;
  // The same, and running statistics moved towards the batch's; and by running statistics (batch_norm.h).
  std::pair<Tensor, NormStatistics> train(const Operand& images, const NormStatistics& running) const;
  Tensor infer(const Operand& images, const NormStatistics& running) const;
  std::vector<BatchNorm2d> norms() const;  // in the order in which they are used

 private:
  Tensor forward(const Operand& images, NormPass& pass) const;
};

}  // namespace tidemark::nn
