// The transformer of Vaswani et al. (2017): an encoder, and a decoder that looks at what the encoder made.
// Norms stand behind each part, as in the paper, or before it (pre_norm), as in most models since; then the
// stack ends with one more.
#pragma once
#include <vector>

#include "tidemark/nn/activations.h"
#include "tidemark/nn/multi_head_attention.h"

namespace tidemark::nn {

struct TransformerConfig {
  std::int64_t layers = 6, width = 512, heads = 8, hidden = 2048;
  bool pre_norm = false;
  bool last_norm = false;  // one more at the end, which pre_norm has in any case
  Activation activation = Activation::relu;
};

// Two linear layers.
struct FeedForward {
  Linear up, down;
  Activation activation = Activation::relu;
  TM_FIELDS(FeedForward, up, down, activation)

  static FeedForward init(const Tensor& key, std::int64_t width, std::int64_t hidden,
                          Activation activation = Activation::relu,
                          SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, const Dropout& dropout = {}) const;  // (…, width), dropped between them
};

struct EncoderLayer {
  MultiHeadAttention attention;
  FeedForward feed_forward;
  LayerNorm norm1, norm2;
  bool pre_norm = false;
  TM_FIELDS(EncoderLayer, attention, feed_forward, norm1, norm2, pre_norm)

  static EncoderLayer init(const Tensor& key, const TransformerConfig& config,
                           SourceLine where = std::source_location::current());
  // (B, T, width). options.dropout drops probabilities, within the feed-forward and what each part adds.
  Tensor operator()(const Operand& x, const AttendOptions& options = {}) const;
};

struct DecoderLayer {
  MultiHeadAttention attention, cross;
  FeedForward feed_forward;
  LayerNorm norm1, norm2, norm3;
  bool pre_norm = false;
  TM_FIELDS(DecoderLayer, attention, cross, feed_forward, norm1, norm2, norm3, pre_norm)

  static DecoderLayer init(const Tensor& key, const TransformerConfig& config,
                           SourceLine where = std::source_location::current());
  // x (B, T, width) looks at itself, then at memory (B, S, width). The dropout of `options` serves both.
  Tensor operator()(const Operand& x, const Tensor& memory, const AttendOptions& options = {.causal = true},
                    const AttendOptions& to_memory = {}) const;
};

struct TransformerEncoder {
  std::vector<EncoderLayer> layers;
  std::vector<LayerNorm> last;  // one or none
  TM_FIELDS(TransformerEncoder, layers, last)

  static TransformerEncoder init(const Tensor& key, const TransformerConfig& config,
                                 SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, const AttendOptions& options = {}) const;
};

struct TransformerDecoder {
  std::vector<DecoderLayer> layers;
  std::vector<LayerNorm> last;  // one or none
  TM_FIELDS(TransformerDecoder, layers, last)

  static TransformerDecoder init(const Tensor& key, const TransformerConfig& config,
                                 SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, const Tensor& memory, const AttendOptions& options = {.causal = true},
                    const AttendOptions& to_memory = {}) const;
};

}  // namespace tidemark::nn
