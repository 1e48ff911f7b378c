#include "tidemark/nn/convnet.h"

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

ResidualBlock ResidualBlock::init(const Tensor& key, std::int64_t channels, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {Conv2d::init(keys[0], channels, channels, 3), Conv2d::init(keys[1], channels, channels, 3),
          BatchNorm2d::init(channels), BatchNorm2d::init(channels)};
}
Tensor ResidualBlock::operator()(const Operand& x) const {
  const CallSite site(x.where());
  const Tensor h = relu(norm1(conv1(x.tensor())));
  return relu(norm2(conv2(h)) + x.tensor());
}

ConvNet ConvNet::init(const Tensor& key, std::int64_t blocks, std::int64_t channels, std::int64_t classes,
                      SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  ConvNet net;
  net.stem = Conv2d::init(keys[0], 3, channels, 3);
  for (std::int64_t i = 0; i < blocks; ++i)
    net.blocks.push_back(ResidualBlock::init(fold_in(keys[1], i), channels));
  net.head = Linear::init(keys[2], channels, classes);
  return net;
}
Tensor ConvNet::operator()(const Operand& images) const {
  const CallSite site(images.where());
  Tensor h = relu(stem(images.tensor()));
  for (const ResidualBlock& block : blocks) h = block(h);
  return head(mean(h, {2, 3}));
}

}  // namespace tidemark::nn
