// Scaled dot-product attention: softmax(q kᵀ · scale) v, row block by row block, so that no (T, T) matrix exists.
//
//   q (B, Hq, Tq, D)   k, v (B, Hkv, Tk, D)   Hq a multiple of Hkv: neighbouring query heads share keys and values
//   mask (optional, bool, broadcast to (B, Hq, Tq, Tk)): where it is false, nothing is attended to
//   causal: query i attends to keys up to i + Tk - Tq, so the last query sees all keys
//
// A query that may attend to nothing gives 0. The logsumexp of each query's scores is a second result, from which the
// gradient rebuilds the probabilities block by block: a backward pass keeps q, k, v, the result and one number per query.
#pragma once
#include <algorithm>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct AttentionAttrs {
  bool causal = false;
  double scale = 0;  // 0: 1/√D
  TM_FIELDS(AttentionAttrs, causal, scale)
};

Var attention(const Var& q, const Var& k, const Var& v, const AttentionAttrs& attrs = {},
              const Var& mask = {});

// The kernel's view of a call.
struct AttentionForm {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, width = 0;
  bool causal = false;
  double scale = 1;
  std::int64_t group() const { return heads / kv_heads; }
  // Rows of a block of queries or keys: bounds what a task holds on its stack.
  std::int64_t block() const {
    return std::min<std::int64_t>(64,
                                  std::max<std::int64_t>(1, max_width / std::max<std::int64_t>(width, 1)));
  }
  // How many keys query i may see.
  std::int64_t visible(std::int64_t i) const {
    return causal ? std::clamp<std::int64_t>(i + keys - queries + 1, 0, keys) : keys;
  }
  static constexpr std::int64_t max_width = 8192;
};
AttentionForm attention_form(const Call& call);  // operands begin with q, k, v

}  // namespace tidemark
