// Vision transformer (Dosovitskiy et al. 2021): an image as a sequence of square patches with a class token
// before them. The position table is for one side of images.
#pragma once
#include <vector>

#include "tidemark/nn/transformer.h"

namespace tidemark::nn {

struct VitConfig {  // ViT-B/16
  std::int64_t layers = 12, width = 768, heads = 12;
  std::int64_t patch = 16, side = 224, classes = 1000;  // side: of the images, a multiple of the patch
};

struct Vit {
  Tensor patch_weight;    // (width, 3, patch, patch)
  Tensor patch_bias;      // (width)
  Tensor class_token;     // (1, 1, width)
  Tensor position_table;  // (1 + patches, width)
  std::vector<TransformerBlock> blocks;
  LayerNorm norm;
  Linear head;
  std::int64_t heads = 1;
  TM_FIELDS(Vit, patch_weight, patch_bias, class_token, position_table, blocks, norm, head, heads)

  static Vit init(const Tensor& key, const VitConfig& config,
                  SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& images) const;  // (N, 3, side, side) → logits (N, classes)
};

}  // namespace tidemark::nn
