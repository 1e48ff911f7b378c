#include "tidemark/nn/vit.h"

#include <fmt/format.h>

#include <cmath>

namespace tidemark::nn {

Vit Vit::init(const Tensor& key, const VitConfig& config, SourceLine where) {
  check_heads(config.width, config.heads, config.heads, where);
  if (config.patch < 1 || config.side < config.patch) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a vision transformer of images of side {} and patches of side {}", config.side,
                              config.patch),
          .expected = "patches of side 1 or more that fit into the images",
          .where = where});
  }
  const std::vector<Tensor> keys = split_key({key, where}, 5);
  const std::int64_t patches = (config.side / config.patch) * (config.side / config.patch);
  const double fan_in = static_cast<double>(3 * config.patch * config.patch);
  Vit vit;
  vit.patch_weight =
      random_normal(keys[0], {config.width, 3, config.patch, config.patch}, 0, 1 / std::sqrt(fan_in));
  vit.patch_bias = zeros({config.width});
  vit.class_token = random_normal(keys[1], {1, 1, config.width}, 0, 0.02);
  vit.position_table = random_normal(keys[2], {1 + patches, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    vit.blocks.push_back(TransformerBlock::init(fold_in(keys[3], i), config.width));
  }
  vit.norm = LayerNorm::init(config.width);
  vit.head = Linear::init(keys[4], config.width, config.classes);
  vit.heads = config.heads;
  return vit;
}
Tensor Vit::operator()(const Tensor& images) const {
  const std::int64_t batch = images.size(0), width = patch_weight.size(0), patch = patch_weight.size(-1);
  const Tensor grid =
      conv(images, patch_weight,
           {.stride = {patch, patch}, .low = {0, 0}, .high = {0, 0}, .dilation = {1, 1}, .groups = 1});
  const Tensor patches =
      swap_axes(reshape(grid, {batch, width, -1}), 1, 2) + patch_bias;  // (N, patches, width)
  Tensor h = concat({broadcast(class_token, {batch, 1, width}), patches}, 1) + position_table;
  for (const TransformerBlock& block : blocks) h = block(h, heads, false);
  return head(norm(Tensor(h.at(all, 0))));
}

}  // namespace tidemark::nn
