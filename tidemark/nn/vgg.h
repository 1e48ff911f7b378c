// VGG (Simonyan & Zisserman 2015): stages of 3 x 3 convolutions, each ended by a 2 x 2 max pool, then three
// linear layers with dropout. The first of them is sized for one side of images, as in the paper.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct VggConfig {
  std::vector<std::int64_t> depths = {2, 2, 3, 3, 3};  // convolutions of each stage; this is VGG-16
  std::int64_t width = 64;                             // of the first stage; doubles up to eight times that
  std::int64_t hidden = 4096, classes = 1000;
  std::int64_t side = 224;  // of the images, a multiple of 2 to the number of stages
  double dropout = 0.5;
};

struct Vgg {
  std::vector<std::vector<Conv2d>> stages;
  std::vector<Linear> head;
  double dropout_rate = 0;
  TM_FIELDS(Vgg, stages, head, dropout_rate)

  static Vgg init(const Tensor& key, const VggConfig& config,
                  SourceLine where = std::source_location::current());
  // (N, 3, side, side) → logits (N, classes); `key` chooses what is dropped.
  Tensor operator()(const Operand& images, const Tensor& key) const;
};

}  // namespace tidemark::nn
