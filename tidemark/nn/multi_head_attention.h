// Attention with a projection each for queries, keys and values: of a sequence to itself, or to another one.
// SelfAttention (layers.h) and RotaryAttention (llama.h) are the forms that GPT-2 and Llama are made of.
#pragma once
#include "tidemark/nn/layers.h"
#include "tidemark/nn/rotary.h"

namespace tidemark::nn {

struct AttendOptions {
  bool causal = false;             // a query sees keys up to its own place
  Tensor mask = {};                // bool, broadcast to (B, heads, T, S): true where a query may look
  Tensor key_mask = {};            // bool, (B, S): true for tokens, false for padding behind them
  const Rotary* rotary = nullptr;  // of the T positions; with it, queries and keys are turned
  Dropout dropout = {};            // of probabilities
};

struct MultiHeadAttention {
  Linear q, k, v, out;                   // to heads · D, kv_heads · D twice, and from heads · D
  std::int64_t heads = 1, kv_heads = 1;  // fewer kv_heads: neighbouring heads share keys and values
  TM_FIELDS(MultiHeadAttention, q, k, v, out, heads, kv_heads)

  // kv_heads 0: as many as heads.
  static MultiHeadAttention init(const Tensor& key, std::int64_t width, std::int64_t heads,
                                 std::int64_t kv_heads = 0,
                                 SourceLine where = std::source_location::current());
  // x (B, T, width) asks, `from` (B, S, width) answers: (B, T, width). A query that may look nowhere gets
  // out.bias.
  Tensor operator()(const Operand& x, const Operand& from, const AttendOptions& options = {}) const;
  Tensor operator()(const Operand& x, const AttendOptions& options = {}) const;  // x to itself

  // x to itself and, behind it, to what the cache holds; causal. `rotary` is of these T positions.
  KeyValueCache cache(std::int64_t batch, std::int64_t capacity,
                      SourceLine where = std::source_location::current()) const;
  std::pair<Tensor, KeyValueCache> operator()(const Operand& x, const KeyValueCache& before,
                                              const Tensor& position, const Rotary* rotary = nullptr) const;
};

}  // namespace tidemark::nn
