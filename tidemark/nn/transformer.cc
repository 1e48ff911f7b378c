#include "tidemark/nn/transformer.h"

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"
#include "tidemark/trace/reversible.h"

namespace tidemark::nn {

TransformerBlock TransformerBlock::init(const Tensor& key, std::int64_t width, Activation activation,
                                        SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  return {LayerNorm::init(width),
          LayerNorm::init(width),
          SelfAttention::init(keys[0], width),
          Linear::init(keys[1], width, 4 * width),
          Linear::init(keys[2], 4 * width, width),
          activation};
}
Tensor TransformerBlock::attend(const Tensor& x, std::int64_t heads, bool causal,
                                const Dropout& dropout) const {
  const Dropout after = dropout.use(1);
  const Tensor normed = norm1(x);
  return after(attention(normed, heads, causal, dropout.use(0)));
}
Tensor TransformerBlock::feed(const Tensor& x, const Dropout& dropout) const {
  const Dropout after = dropout.use(2);
  return after(down(activate(up(norm2(x)), activation)));
}
Tensor TransformerBlock::operator()(const Operand& given, std::int64_t heads, bool causal,
                                    const Dropout& dropout) const {
  const CallSite site(given.where());
  check_sequence("a transformer block", given, up.weight.size(0));
  const Tensor& x = given.tensor();
  const Tensor h = x + attend(x, heads, causal, dropout);
  return h + feed(h, dropout);
}
std::pair<Tensor, KeyValueCache> TransformerBlock::operator()(const Operand& given, std::int64_t heads,
                                                              const KeyValueCache& cache,
                                                              const Tensor& position) const {
  const CallSite site(given.where());
  check_sequence("a transformer block", given, up.weight.size(0));
  const Tensor& x = given.tensor();
  auto [attended, next] = attention(norm1(x), heads, cache, position);
  const Tensor h = x + attended;
  return {h + feed(h, {}), std::move(next)};
}
std::pair<Tensor, Tensor> TransformerBlock::operator()(const Operand& x1, const Tensor& x2,
                                                       std::int64_t heads, bool causal,
                                                       const Dropout& dropout) const {
  const CallSite site(x1.where());
  const std::int64_t width = up.weight.size(0);
  check_sequence("a reversible transformer block", x1, width);
  check_sequence("a reversible transformer block", {x2, x1.where()}, width);
  const DType inside = up.weight.dtype(), outside = x1.tensor().dtype();
  return reversible(
      [&](const Tensor& x) { return cast(attend(cast(x, inside), heads, causal, dropout), outside); },
      [&](const Tensor& x) { return cast(feed(cast(x, inside), dropout), outside); })(x1.tensor(), x2);
}

}  // namespace tidemark::nn
