#include "tidemark/nn/multi_head_attention.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {
namespace {

void check_sequences(const Operand& x, const Operand& from, const Linear& q) {
  const Tensor &asks = x.tensor(), &answers = from.tensor();
  const std::int64_t width = q.weight.size(0);
  if (asks.rank() == 3 && answers.rank() == 3 && asks.size(2) == width && answers.size(2) == width &&
      asks.size(0) == answers.size(0)) {
    return;
  }
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("attention of {} to {}", to_string(asks.type()), to_string(answers.type())),
        .expected = fmt::format("(B, T, {0}) and (B, S, {0})", width),
        .where = x.where()});
}

// The mask of both, empty where there is none.
Tensor joined_mask(const AttendOptions& options, const Operand& from) {
  if (options.key_mask.empty()) return options.mask;
  const std::int64_t batch = from.tensor().size(0), keys = from.tensor().size(1);
  if (options.key_mask.shape() != Shape{batch, keys}) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("a key_mask {}", to_string(options.key_mask.type())),
                                     .expected = fmt::format("bool ({}, {}), one for each key", batch, keys),
                                     .where = from.where()});
  }
  const Tensor present = reshape(options.key_mask, {batch, 1, 1, keys});
  return options.mask.empty() ? present : options.mask && present;
}

}  // namespace

MultiHeadAttention MultiHeadAttention::init(const Tensor& key, std::int64_t width, std::int64_t heads,
                                            std::int64_t kv_heads, SourceLine where) {
  const CallSite site(where);
  if (kv_heads == 0) kv_heads = heads;
  check_heads(width, heads, kv_heads, where);
  const std::vector<Tensor> keys = split_key({key, where}, 4);
  const std::int64_t kv_width = width / heads * kv_heads;
  return {Linear::init(keys[0], width, width),
          Linear::init(keys[1], width, kv_width),
          Linear::init(keys[2], width, kv_width),
          Linear::init(keys[3], width, width),
          heads,
          kv_heads};
}
Tensor MultiHeadAttention::operator()(const Operand& x, const Operand& from,
                                      const AttendOptions& options) const {
  const CallSite site(x.where());
  check_sequences(x, from, q);
  Tensor queries = split_heads(q(x), heads), keys = split_heads(k(from), kv_heads);
  const Tensor values = split_heads(v(from), kv_heads);
  if (options.rotary) {
    queries = (*options.rotary)(queries);
    keys = (*options.rotary)(keys);
  }
  const AttentionAttrs attrs{.causal = options.causal, .scale = 0, .dropout = options.dropout.rate};
  const Tensor mask = joined_mask(options, from);
  const auto mixed = [&] {
    if (options.dropout.rate == 0) {
      return mask.empty() ? attention(queries, keys, values, attrs)
                          : attention(queries, keys, values, mask, attrs);
    }
    return mask.empty() ? attention(queries, keys, values, attrs, options.dropout.key)
                        : attention(queries, keys, values, mask, attrs, options.dropout.key);
  };
  return out(merge_heads(mixed()));
}
Tensor MultiHeadAttention::operator()(const Operand& x, const AttendOptions& options) const {
  return (*this)(x, x, options);
}

KeyValueCache MultiHeadAttention::cache(std::int64_t batch, std::int64_t capacity, SourceLine where) const {
  const CallSite site(where);
  return KeyValueCache::init(batch, kv_heads, capacity, q.weight.size(1) / heads, q.weight.dtype());
}
std::pair<Tensor, KeyValueCache> MultiHeadAttention::operator()(const Operand& x, const KeyValueCache& before,
                                                                const Tensor& position,
                                                                const Rotary* rotary) const {
  const CallSite site(x.where());
  check_sequences(x, x, q);
  Tensor queries = split_heads(q(x), heads), keys = split_heads(k(x), kv_heads);
  const Tensor values = split_heads(v(x), kv_heads);
  if (rotary) {
    queries = (*rotary)(queries);
    keys = (*rotary)(keys);
  }
  auto [mixed, after] = attend(queries, keys, values, before, position);
  return {out(merge_heads(mixed)), std::move(after)};
}

}  // namespace tidemark::nn
