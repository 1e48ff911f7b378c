#include "tidemark/nn/encoder_decoder.h"

#include "tidemark/base/call_site.h"

namespace tidemark::nn {
namespace {

// x and what `part` makes of it, with the norm before or behind.
template <class Part>
Tensor with_residual(const Tensor& x, const LayerNorm& norm, bool pre_norm, const Dropout& dropout,
                     const Part& part) {
  if (pre_norm) return x + dropout(part(norm(x)));
  return norm(x + dropout(part(x)));
}

AttendOptions with_dropout(AttendOptions options, const Dropout& dropout) {
  options.dropout = dropout;
  return options;
}

std::vector<LayerNorm> last_norms(const TransformerConfig& config) {
  if (!config.pre_norm && !config.last_norm) return {};
  return {LayerNorm::init(config.width)};
}

}  // namespace

FeedForward FeedForward::init(const Tensor& key, std::int64_t width, std::int64_t hidden,
                              Activation activation, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {Linear::init(keys[0], width, hidden), Linear::init(keys[1], hidden, width), activation};
}
Tensor FeedForward::operator()(const Operand& x, const Dropout& dropout) const {
  const CallSite site(x.where());
  return down(dropout(activate(up(x.tensor()), activation)));
}

EncoderLayer EncoderLayer::init(const Tensor& key, const TransformerConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {MultiHeadAttention::init(keys[0], config.width, config.heads, 0, where),
          FeedForward::init(keys[1], config.width, config.hidden, config.activation),
          LayerNorm::init(config.width), LayerNorm::init(config.width), config.pre_norm};
}
Tensor EncoderLayer::operator()(const Operand& x, const AttendOptions& options) const {
  const CallSite site(x.where());
  const Dropout& dropout = options.dropout;
  const Dropout within = dropout.use(0), first = dropout.use(1), between = dropout.use(2),
                second = dropout.use(3);
  const AttendOptions own = with_dropout(options, within);
  const Tensor h =
      with_residual(x.tensor(), norm1, pre_norm, first, [&](const Tensor& y) { return attention(y, own); });
  return with_residual(h, norm2, pre_norm, second, [&](const Tensor& y) { return feed_forward(y, between); });
}

DecoderLayer DecoderLayer::init(const Tensor& key, const TransformerConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  return {MultiHeadAttention::init(keys[0], config.width, config.heads, 0, where),
          MultiHeadAttention::init(keys[1], config.width, config.heads, 0, where),
          FeedForward::init(keys[2], config.width, config.hidden, config.activation),
          LayerNorm::init(config.width),
          LayerNorm::init(config.width),
          LayerNorm::init(config.width),
          config.pre_norm};
}
Tensor DecoderLayer::operator()(const Operand& x, const Tensor& memory, const AttendOptions& options,
                                const AttendOptions& to_memory) const {
  const CallSite site(x.where());
  const Dropout& dropout = options.dropout;
  const Dropout within = dropout.use(0), first = dropout.use(1), between = dropout.use(2),
                second = dropout.use(3), across = dropout.use(4), third = dropout.use(5);
  const AttendOptions own = with_dropout(options, within), other = with_dropout(to_memory, across);
  const Tensor h =
      with_residual(x.tensor(), norm1, pre_norm, first, [&](const Tensor& y) { return attention(y, own); });
  const Tensor seen =
      with_residual(h, norm2, pre_norm, third, [&](const Tensor& y) { return cross(y, memory, other); });
  return with_residual(seen, norm3, pre_norm, second,
                       [&](const Tensor& y) { return feed_forward(y, between); });
}

TransformerEncoder TransformerEncoder::init(const Tensor& key, const TransformerConfig& config,
                                            SourceLine where) {
  const CallSite site(where);
  TransformerEncoder encoder;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    encoder.layers.push_back(EncoderLayer::init(fold_in(key, i), config, where));
  }
  encoder.last = last_norms(config);
  return encoder;
}
Tensor TransformerEncoder::operator()(const Operand& x, const AttendOptions& options) const {
  const CallSite site(x.where());
  Tensor h = x.tensor();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = layers[i](h, with_dropout(options, options.dropout.use(static_cast<std::int64_t>(i))));
  }
  return last.empty() ? h : last[0](h);
}

TransformerDecoder TransformerDecoder::init(const Tensor& key, const TransformerConfig& config,
                                            SourceLine where) {
  const CallSite site(where);
  TransformerDecoder decoder;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    decoder.layers.push_back(DecoderLayer::init(fold_in(key, i), config, where));
  }
  decoder.last = last_norms(config);
  return decoder;
}
Tensor TransformerDecoder::operator()(const Operand& x, const Tensor& memory, const AttendOptions& options,
                                      const AttendOptions& to_memory) const {
  const CallSite site(x.where());
  Tensor h = x.tensor();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Dropout own = options.dropout.use(static_cast<std::int64_t>(i));
    h = layers[i](h, memory, with_dropout(options, own), to_memory);
  }
  return last.empty() ? h : last[0](h);
}

}  // namespace tidemark::nn
