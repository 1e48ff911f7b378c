// Scaled dot-product attention: softmax(q kᵀ · scale) v, row block by row block, so that no (T, T) matrix
// exists.
//
//   q (B, Hq, Tq, D)   k, v (B, Hkv, Tk, D)   Hq a multiple of Hkv: neighbouring query heads share keys and
//                                             values
//   mask (optional, bool, broadcast to (B, Hq, Tq, Tk)): where it is false, nothing is attended to
//   causal: query i attends to keys up to i + Tk - Tq, so the last query sees all keys
//   dropout: each probability is dropped at this rate, as dropout(probabilities (B, Hq, Tq, Tk), rate, key)
//   drops it; the
//     bits are made block by block from the place (b, h, i, j) alone, in the gradient and in a replay the
//     same again
//
// A query that may attend to nothing gives 0. The logsumexp of each query's scores is a second result, from
// which the gradient rebuilds the probabilities block by block: a backward pass keeps q, k, v, the result and
// one number per query.
#pragma once
#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct AttentionAttrs {
  bool causal = false;
  double scale = 0;    // 0: 1/√D
  double dropout = 0;  // in [0, 1); above 0 it needs a key
  TM_FIELDS(AttentionAttrs, causal, scale, dropout)
};

Var attention(const Var& q, const Var& k, const Var& v, const AttentionAttrs& attrs = {},
              const Var& mask = {}, const Var& key = {});

// The kernel's view of a call.
struct AttentionForm {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, width = 0;
  bool causal = false;
  double scale = 1, dropout = 0;
  int mask = -1, key = -1;  // which operands they are; -1: none
  std::int64_t group() const { return heads / kv_heads; }
  // Queries and keys of a block: bounds what a task holds. Whole strips, so that a block begins a panel.
  std::int64_t query_block() const { return block(most_queries); }
  std::int64_t key_block() const { return block(most_keys); }
  // The result is computed by spans of queries.
  std::int64_t query_span() const { return query_block() * blocks_in_span; }
  std::int64_t query_spans() const { return (queries + query_span() - 1) / query_span(); }
  // The gradient is computed by key heads, each cut into parts of whole blocks of keys where there are few of
  // them: enough tasks for some threads. By the shape alone, since parts are summed.
  std::int64_t key_parts() const {
    const std::int64_t tasks = std::max<std::int64_t>(batch * kv_heads, 1);
    const std::int64_t wanted = std::min(key_blocks(), (few_tasks + tasks - 1) / tasks);
    return wanted <= 1 ? 1 : (keys + key_part(wanted) - 1) / key_part(wanted);
  }
  std::int64_t key_part() const { return key_part(key_parts()); }
  // The gradient of the queries is a sum over keys: in the result itself, unless that is of 16 bits or there
  // are parts.
  bool sums_queries_apart(DType dtype) const { return key_parts() > 1 || size_of(dtype) == 2; }
  std::int64_t query_sums_bytes(DType dtype) const {
    const std::int64_t sums = sums_queries_apart(dtype) ? key_parts() * batch * heads * queries * width : 0;
    return align_up(sums * (dtype == DType::f64 ? 8 : 4), buffer_alignment);
  }
  // How many keys query i may see.
  std::int64_t visible(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + keys - queries + 1, 0, keys) : keys;
  }
  static constexpr std::int64_t max_width = 8192, most_queries = 128, most_keys = 128, blocks_in_span = 2,
                                few_tasks = 8;
  static constexpr std::int64_t strip = 16;  // rows on the diagonal that share one limit of what they see

 private:
  std::int64_t block(std::int64_t most) const {
    const std::int64_t rows = std::clamp<std::int64_t>(max_width / std::max<std::int64_t>(width, 1), 1, most);
    return rows < strip ? rows : rows / strip * strip;
  }
  std::int64_t key_blocks() const { return (keys + key_block() - 1) / key_block(); }
  std::int64_t key_part(std::int64_t parts) const { return (key_blocks() + parts - 1) / parts * key_block(); }
};
AttentionForm attention_form(const Call& call);  // of attention or of its gradient

}  // namespace tidemark
