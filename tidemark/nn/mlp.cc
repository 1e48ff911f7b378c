#include "tidemark/nn/mlp.h"

#include "tidemark/base/call_site.h"

namespace tidemark::nn {

Mlp Mlp::init(const Tensor& key, const std::vector<std::int64_t>& widths, SourceLine where) {
  const CallSite site(where);
  Mlp mlp;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    mlp.layers.push_back(Linear::init(fold_in(key, static_cast<std::int64_t>(i)), widths[i], widths[i + 1]));
  }
  return mlp;
}
Tensor Mlp::operator()(const Operand& x) const {
  const CallSite site(x.where());
  Tensor h = x.tensor();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = layers[i](h);
    if (i + 1 < layers.size()) h = relu(h);
  }
  return h;
}

}  // namespace tidemark::nn
