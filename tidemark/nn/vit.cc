#include "tidemark/nn/vit.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {
namespace {

// Whole patches, as many as there are positions for them.
void check_patches(const Operand& images, const Tensor& patch_weight, std::int64_t positions) {
  const std::int64_t patch = patch_weight.size(-1);
  check_images("a vision transformer", images, {.channels = patch_weight.size(1), .multiple = patch});
  const std::int64_t high = images.tensor().size(2) / patch, wide = images.tensor().size(3) / patch;
  if (high * wide == positions) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("a vision transformer over {}, {} x {} patches of side {}",
                            to_string(images.tensor().type()), high, wide, patch),
        .expected = fmt::format("the {} patches that it has positions for", positions),
        .where = images.where(),
        .help = "resize the images to the side that the model was made for"});
}

}  // namespace

Vit Vit::init(const Tensor& key, const VitConfig& config, SourceLine where) {
  const CallSite site(where);
  check_heads(config.width, config.heads, config.heads, where);
  if (config.patch < 1 || config.side < config.patch || config.side % config.patch != 0) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a vision transformer of images of side {} and patches of side {}", config.side,
                              config.patch),
          .expected = "images whose side is a multiple of the patches'",
          .where = where,
          .help = "resize or pad the images, or choose another patch: a rest would be left out unseen"});
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
Tensor Vit::operator()(const Operand& given) const {
  const CallSite site(given.where());
  const Tensor& images = given.tensor();
  check_patches(given, patch_weight, position_table.size(0) - 1);
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
