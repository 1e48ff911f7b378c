#include "tidemark/nn/unet.h"

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

DoubleConv DoubleConv::init(const Tensor& key, std::int64_t in, std::int64_t out, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {ConvNorm::init(keys[0], in, out, 3), ConvNorm::init(keys[1], out, out, 3)};
}
Tensor DoubleConv::operator()(const Operand& x, NormPass& pass) const {
  const CallSite site(x.where());
  const Tensor h = relu(first(x, pass));
  return relu(second(h, pass));
}

UNet UNet::init(const Tensor& key, const UNetConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 4);
  UNet net;
  net.down.push_back(DoubleConv::init(fold_in(keys[0], 0), config.channels, config.width));
  std::int64_t width = config.width;
  for (std::int64_t i = 1; i <= config.levels; ++i, width *= 2) {
    net.down.push_back(DoubleConv::init(fold_in(keys[0], i), width, 2 * width));
  }
  for (std::int64_t i = 0; i < config.levels; ++i, width /= 2) {
    net.rise.push_back(UpConv2d::init(fold_in(keys[1], i), width, width / 2, 2));
    net.up.push_back(DoubleConv::init(fold_in(keys[2], i), width, width / 2));
  }
  net.head = Conv2d::init(keys[3], config.width, config.classes, 1);
  return net;
}
Tensor UNet::operator()(const Operand& images) const {
  const CallSite site(images.where());
  NormPass batch;
  return forward(images, batch);
}
std::pair<Tensor, NormStatistics> UNet::train(const Operand& images, const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::training(running);
  Tensor logits = forward(images, pass);
  return {std::move(logits), pass.statistics(images.where())};
}
Tensor UNet::infer(const Operand& images, const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::inference(running);
  Tensor logits = forward(images, pass);
  pass.check_all_used(images.where());
  return logits;
}
std::vector<BatchNorm2d> UNet::norms() const {
  std::vector<BatchNorm2d> list;
  for (const std::vector<DoubleConv>* side : {&down, &up}) {
    for (const DoubleConv& conv : *side) list.insert(list.end(), {conv.first.norm, conv.second.norm});
  }
  return list;
}
Tensor UNet::forward(const Operand& images, NormPass& pass) const {
  const ImageSizes sizes{.channels = down[0].first.weight.size(1), .multiple = std::int64_t{1} << up.size()};
  check_images("a U-Net", images, sizes);
  std::vector<Tensor> skips;
  Tensor h = down[0](images.tensor(), pass);
  for (std::size_t i = 1; i < down.size(); ++i) {
    skips.push_back(h);
    h = max_pool(h, {.window = {2, 2}, .stride = {2, 2}, .low = {0, 0}, .high = {0, 0}});
    h = down[i](h, pass);
  }
  for (std::size_t i = 0; i < up.size(); ++i) {
    h = up[i](concat({skips.back(), rise[i](h)}, 1), pass);
    skips.pop_back();
  }
  return transpose(head(h), {0, 2, 3, 1});
}

}  // namespace tidemark::nn
