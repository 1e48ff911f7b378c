#include "tidemark/nn/vgg.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

Vgg Vgg::init(const Tensor& key, const VggConfig& config, SourceLine where) {
  const CallSite site(where);
  if (config.side >> config.depths.size() < 1) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a VGG of {} stages for images of side {}", config.depths.size(), config.side),
          .expected = "a side that is not halved to nothing",
          .where = where});
  }
  const std::vector<Tensor> keys = split_key(key, 4);
  Vgg net;
  std::int64_t channels = 3, side = config.side, width = config.width, number = 0;
  for (const std::int64_t depth : config.depths) {
    std::vector<Conv2d>& stage = net.stages.emplace_back();
    for (std::int64_t i = 0; i < depth; ++i) {
      stage.push_back(Conv2d::init(fold_in(keys[0], number++), channels, width, 3));
      channels = width;
    }
    width = std::min(2 * width, 8 * config.width);
    side /= 2;
  }
  net.head = {Linear::init(keys[1], channels * side * side, config.hidden),
              Linear::init(keys[2], config.hidden, config.hidden),
              Linear::init(keys[3], config.hidden, config.classes)};
  net.dropout_rate = config.dropout;
  return net;
}
Tensor Vgg::operator()(const Operand& images, const Tensor& key) const {
  const CallSite site(images.where());
  check_images("a VGG", images, {.channels = stages.front().front().weight.size(1)});
  Tensor h = images.tensor();
  for (const std::vector<Conv2d>& stage : stages) {
    for (const Conv2d& conv : stage) h = relu(conv(h));
    h = max_pool(h, {.window = {2, 2}, .stride = {2, 2}, .low = {0, 0}, .high = {0, 0}});
  }
  h = reshape(h, {h.size(0), h.count() / std::max<std::int64_t>(h.size(0), 1)});
  if (h.size(1) != head.front().weight.size(0)) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("a VGG over {}, which its stages make {} numbers of each",
                              to_string(images.tensor().type()), h.size(1)),
          .expected =
              fmt::format("images of the side it was made for, which are {}", head.front().weight.size(0)),
          .where = images.where()});
  }
  for (std::size_t i = 0; i < head.size(); ++i) {
    h = head[i](h);
    if (i + 1 == head.size()) break;
    h = relu(h);
    h = dropout(h, dropout_rate, fold_in(key, static_cast<std::int64_t>(i)));
  }
  return h;
}

}  // namespace tidemark::nn
