#include "tidemark/nn/mobilenet.h"

#include "tidemark/base/call_site.h"
#include "tidemark/nn/activations.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

InvertedResidual InvertedResidual::init(const Tensor& key, std::int64_t in, std::int64_t out,
                                        std::int64_t stride, std::int64_t expansion, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  const std::int64_t wide = in * expansion;
  InvertedResidual block;
  if (expansion > 1) block.widen = {ConvNorm::init(keys[0], in, wide, 1)};
  block.filter = ConvNorm::init(keys[1], wide, wide, 3, stride, wide);
  block.project = ConvNorm::init(keys[2], wide, out, 1);
  return block;
}
Tensor InvertedResidual::operator()(const Operand& given, NormPass& pass) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  const Tensor wide = widen.empty() ? x : relu6(widen[0](x, pass));
  const Tensor filtered = relu6(filter(wide, pass)), y = project(filtered, pass);
  return y.shape() == x.shape() ? x + y : y;
}

MobileNet MobileNet::init(const Tensor& key, const MobileNetConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 4);
  MobileNet net;
  net.stem = ConvNorm::init(keys[0], 3, config.stem, 3, 2);
  std::int64_t channels = config.stem;
  for (const MobileNetStage& stage : config.stages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const Tensor block_key = fold_in(keys[1], static_cast<std::int64_t>(net.blocks.size()));
      net.blocks.push_back(InvertedResidual::init(block_key, channels, stage.channels,
                                                  i == 0 ? stage.stride : 1, stage.expansion));
      channels = stage.channels;
    }
  }
  net.last = ConvNorm::init(keys[2], channels, config.last, 1);
  net.head = Linear::init(keys[3], config.last, config.classes);
  net.dropout_rate = config.dropout;
  return net;
}
Tensor MobileNet::operator()(const Operand& images, const Tensor& key) const {
  const CallSite site(images.where());
  NormPass batch;
  return head(dropout(features(images, batch), dropout_rate, key));
}
std::pair<Tensor, NormStatistics> MobileNet::train(const Operand& images, const Tensor& key,
                                                   const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::training(running);
  Tensor logits = head(dropout(features(images, pass), dropout_rate, key));
  return {std::move(logits), pass.statistics(images.where())};
}
Tensor MobileNet::infer(const Operand& images, const NormStatistics& running) const {
  const CallSite site(images.where());
  NormPass pass = NormPass::inference(running);
  const Tensor seen = features(images, pass);
  pass.check_all_used(images.where());
  return head(seen);
}
std::vector<BatchNorm2d> MobileNet::norms() const {
  std::vector<BatchNorm2d> list = {stem.norm};
  for (const InvertedResidual& block : blocks) {
    for (const ConvNorm& conv : block.widen) list.push_back(conv.norm);
    list.insert(list.end(), {block.filter.norm, block.project.norm});
  }
  list.push_back(last.norm);
  return list;
}
Tensor MobileNet::features(const Operand& images, NormPass& pass) const {
  check_images("a MobileNet", images, {.channels = stem.weight.size(1)});
  Tensor h = relu6(stem(images.tensor(), pass));
  for (const InvertedResidual& block : blocks) h = block(h, pass);
  return mean(relu6(last(h, pass)), {2, 3});
}

}  // namespace tidemark::nn
