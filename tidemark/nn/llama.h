// Llama (Touvron et al. 2023): RMS norm, rotary positions, a gated feed-forward (SwiGLU), no biases, an
// untied output.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"
#include "tidemark/nn/rotary.h"

namespace tidemark::nn {

struct LlamaConfig {  // the one of 7 billion parameters
  std::int64_t layers = 32, width = 4096, heads = 32, kv_heads = 32;
  std::int64_t hidden = 11008, vocabulary = 32000;
};

struct RotaryAttention {
  Tensor q, out;                         // (width, width)
  Tensor k, v;                           // (width, kv_heads · D)
  std::int64_t heads = 1, kv_heads = 1;  // fewer kv_heads: neighbouring heads share keys and values
  TM_FIELDS(RotaryAttention, q, out, k, v, heads, kv_heads)

  static RotaryAttention init(const Tensor& key, std::int64_t width, std::int64_t heads,
                              std::int64_t kv_heads, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, const Rotary& rotary) const;  // (B, T, width), causal
  // Of tokens from `position` on behind those in the cache; `rotary` is of their positions.
  std::pair<Tensor, KeyValueCache> operator()(const Operand& x, const Rotary& rotary,
                                              const KeyValueCache& cache, const Tensor& position) const;

 private:
  std::vector<Tensor> queries_keys_values(const Operand& x, const Rotary& rotary) const;
};

struct SwiGlu {
  Tensor gate, up, down;  // (width, hidden) twice, (hidden, width)
  TM_FIELDS(SwiGlu, gate, up, down)

  static SwiGlu init(const Tensor& key, std::int64_t width, std::int64_t hidden,
                     SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (…, width)
};

struct LlamaBlock {
  RmsNorm norm1, norm2;
  RotaryAttention attention;
  SwiGlu feed_forward;
  TM_FIELDS(LlamaBlock, norm1, norm2, attention, feed_forward)

  static LlamaBlock init(const Tensor& key, const LlamaConfig& config,
                         SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x, const Rotary& rotary) const;  // (B, T, width)
  std::pair<Tensor, KeyValueCache> operator()(const Operand& x, const Rotary& rotary,
                                              const KeyValueCache& cache, const Tensor& position) const;
};

struct Llama {
  Tensor token_table;  // (vocabulary, width)
  std::vector<LlamaBlock> blocks;
  RmsNorm norm;
  Tensor head;  // (width, vocabulary)
  TM_FIELDS(Llama, token_table, blocks, norm, head)

  static Llama init(const Tensor& key, const LlamaConfig& config,
                    SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& tokens) const;  // (B, T) → logits (B, T, vocabulary)
  Tensor hidden(const Operand& tokens) const;      // what they are made of: (B, T, width)
  Tensor logits(const Operand& hidden) const;      // (…, width) → (…, vocabulary)

  // One token at a time, or some: a cache for `batch` sequences of at most `capacity` tokens, and what
  // hidden(…) gives for tokens (B, T) behind those read before, beside the cache that knows them. Reading
  // beyond the capacity is an error while running.
  LanguageCache cache(std::int64_t batch, std::int64_t capacity,
                      SourceLine where = std::source_location::current()) const;
  std::pair<Tensor, LanguageCache> hidden(const Operand& tokens, const LanguageCache& before) const;

  // The mean cross entropy of the next tokens (B, T), without the logits.
  Tensor loss(const Operand& tokens, const Tensor& next) const;
};

}  // namespace tidemark::nn
