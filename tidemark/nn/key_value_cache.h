// Keys and values of the tokens read so far, so that a model reads each token once while it writes. The
// capacity is fixed and the position is a tensor: one compiled step serves every position.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

// Of one attention layer.
struct KeyValueCache {
  Tensor keys, values;  // (B, heads, capacity, D)
  TM_FIELDS(KeyValueCache, keys, values)

  static KeyValueCache init(std::int64_t batch, std::int64_t heads, std::int64_t capacity,
                            std::int64_t head_width, DType dtype,
                            SourceLine where = std::source_location::current());
  // With those of T more tokens, (B, heads, T, D), from `position` (an integer scalar) on. What was there is
  // replaced; what would lie behind the capacity is left out.
  KeyValueCache with(const Operand& new_keys, const Tensor& new_values, const Tensor& position) const;
};

// Attention of T queries from `position` on to all before them and to themselves: q (B, H, T, D), k and v (B,
// H or fewer, T, D). Returns what they mix and the cache with k and v.
std::pair<Tensor, KeyValueCache> attend(const Operand& q, const Tensor& k, const Tensor& v,
                                        const KeyValueCache& cache, const Tensor& position);

// Throws unless heads divide the width, and heads of keys the heads.
void check_heads(std::int64_t width, std::int64_t heads, std::int64_t kv_heads, SourceLine where);
// (B, T, heads · D) → (B, heads, T, D) and back.
Tensor split_heads(const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

// Of a language model: what its layers remember, and how many tokens they have read.
struct LanguageCache {
  std::vector<KeyValueCache> blocks;
  Tensor position;  // i64, scalar
  TM_FIELDS(LanguageCache, blocks, position)
};
// The tokens that a cache has room for. Throws unless it is one for a model of so many blocks.
std::int64_t capacity_of(const LanguageCache& cache, std::size_t blocks, SourceLine where);

// The numbers of `count` tokens from `position` on: i64, (count).
Tensor positions_from(const Tensor& position, std::int64_t count);

}  // namespace tidemark::nn
