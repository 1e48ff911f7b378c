#include "tidemark/nn/lstm.h"

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"

namespace tidemark::nn {

Lstm Lstm::init(const Tensor& key, const LstmConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  Lstm lstm;
  lstm.token_table = random_normal(keys[0], {config.vocabulary, config.width}, 0, 0.1);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    lstm.layers.push_back(LstmLayer::init(fold_in(keys[1], i), config.width, config.width));
  }
  lstm.head = Linear::init(keys[2], config.width, config.vocabulary);
  return lstm;
}
Tensor Lstm::operator()(const Operand& tokens) const {
  const CallSite site(tokens.where());
  check_tokens("an LSTM language model", tokens, "(T, B)");
  Tensor h = embedding(token_table, tokens.tensor());  // (T, B, width)
  for (const LstmLayer& layer : layers) h = layer(h);
  return head(h);
}

}  // namespace tidemark::nn
