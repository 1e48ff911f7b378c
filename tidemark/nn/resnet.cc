#include "tidemark/nn/resnet.h"

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

ResNetBlock ResNetBlock::init(const Tensor& key, std::int64_t in, std::int64_t width, std::int64_t stride,
                              bool bottleneck, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 4);
  const std::int64_t out = bottleneck ? 4 * width : width;
  ResNetBlock block;
  if (bottleneck) {
    block.convs = {ConvNorm::init(keys[0], in, width, 1), ConvNorm::init(keys[1], width, width, 3, stride),
                   ConvNorm::init(keys[2], width, out, 1)};
  } else {
    block.convs = {ConvNorm::init(keys[0], in, width, 3, stride), ConvNorm::init(keys[1], width, out, 3)};
  }
  if (stride != 1 || in != out) block.shortcut = {ConvNorm::init(keys[3], in, out, 1, stride)};
  return block;
}
Tensor ResNetBlock::operator()(const Operand& given, NormPass& pass) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  Tensor h = x;
  for (std::size_t i = 0; i < convs.size(); ++i) {
    h = convs[i](h, pass);
    if (i + 1 < convs.size()) h = relu(h);
  }
  return relu(h + (shortcut.empty() ? x : shortcut[0](x, pass)));
}

ResNet ResNet::init(const Tensor& key, const ResNetConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  ResNet net;
  net.stem = config.small_images ? ConvNorm::init(keys[0], 3, config.width, 3)
                                 : ConvNorm::init(keys[0], 3, config.width, 7, 2);
  std::int64_t channels = config.width, width = config.width;
  for (std::size_t stage = 0; stage < config.depths.size(); ++stage, width *= 2) {
    for (std::int64_t i = 0; i < config.depths[stage]; ++i) {
      const Tensor block_key = fold_in(keys[1], static_cast<std::int64_t>(net.blocks.size()));
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      net.blocks.push_back(ResNetBlock::init(block_key, channels, width, stride, config.bottleneck));
      channels = config.bottleneck ? 4 * width : width;
    }
  }
  net.head = Linear::init(keys[2], channels, config.classes);
  return net;
}
Tensor ResNet::operator()(const Operand& images) const {
  const CallSite site(images.where());
  NormPass batch;
  return forward(images, batch);
}
std::pair<Tensor, NormStatistics> ResNet::train(const Operand& images, const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::training(running);
  Tensor logits = forward(images, pass);
  return {std::move(logits), pass.statistics(images.where())};
}
Tensor ResNet::infer(const Operand& images, const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::inference(running);
  Tensor logits = forward(images, pass);
  pass.check_all_used(images.where());
  return logits;
}
std::vector<BatchNorm2d> ResNet::norms() const {
  std::vector<BatchNorm2d> list = {stem.norm};
  for (const ResNetBlock& block : blocks) {
    for (const ConvNorm& conv : block.convs) list.push_back(conv.norm);
    for (const ConvNorm& conv : block.shortcut) list.push_back(conv.norm);
  }
  return list;
}
Tensor ResNet::forward(const Operand& images, NormPass& pass) const {
  check_images("a ResNet", images, {.channels = stem.weight.size(1)});
  Tensor h = relu(stem(images.tensor(), pass));
  if (stem.stride > 1) {
    h = max_pool(h, {.window = {3, 3}, .stride = {2, 2}, .low = {1, 1}, .high = {1, 1}});
  }
  for (const ResNetBlock& block : blocks) h = block(h, pass);
  return head(mean(h, {2, 3}));
}

}  // namespace tidemark::nn
