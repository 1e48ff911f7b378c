#include "tidemark/nn/key_value_cache.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark::nn {
namespace {

// old with `fresh` from a position on along axis 2. By a selection over all places: the position is known
// only when the program runs.
Tensor written(const Tensor& old, const Tensor& fresh, const Tensor& position) {
  const std::int64_t capacity = old.size(2), count = fresh.size(2);
  const Tensor place = arange(capacity) - position;  // in `fresh`
  const Tensor after = place >= 0, inside = after && place < count;
  const Tensor moved = count == 1 ? fresh : take(fresh, clamp(place, 0, count - 1), 2);
  const Tensor mask = broadcast(reshape(inside, {capacity, 1}), old.shape());
  return select(mask, broadcast(moved, old.shape()), old);
}

}  // namespace

KeyValueCache KeyValueCache::init(std::int64_t batch, std::int64_t heads, std::int64_t capacity,
                                  std::int64_t head_width, DType dtype, SourceLine where) {
  const CallSite site(where);
  const Tensor empty = zeros({batch, heads, capacity, head_width}, dtype);
  return {empty, empty};
}
KeyValueCache KeyValueCache::with(const Operand& new_keys, const Tensor& new_values,
                                  const Tensor& position) const {
  const CallSite site(new_keys.where());
  const Tensor all_keys = written(keys, new_keys.tensor(), position);
  return {all_keys, written(values, new_values, position)};
}

std::pair<Tensor, KeyValueCache> attend(const Operand& q, const Tensor& k, const Tensor& v,
                                        const KeyValueCache& cache, const Tensor& position) {
  const CallSite site(q.where());
  const KeyValueCache next = cache.with(k, v, position);
  const Tensor query = reshape(positions_from(position, q.tensor().size(2)), {-1, 1});
  const Tensor visible = arange(next.keys.size(2)) <= query;  // (T, capacity)
  return {attention(q, next.keys, next.values, visible), next};
}

void check_heads(std::int64_t width, std::int64_t heads, std::int64_t kv_heads, SourceLine where) {
  if (heads >= 1 && kv_heads >= 1 && width % heads == 0 && heads % kv_heads == 0) return;
  const std::string of_keys = kv_heads == heads ? "" : fmt::format(" and {} of keys", kv_heads);
  fail(ErrorCode::bad_attribute,
       {.what = fmt::format("attention of width {}, {} heads{}", width, heads, of_keys),
        .expected = "a width that is a multiple of the heads, and they of the heads of keys",
        .where = where});
}
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}
Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

std::int64_t capacity_of(const LanguageCache& cache, std::size_t blocks, SourceLine where) {
  const bool fits = !cache.blocks.empty() && cache.blocks.size() == blocks && !cache.position.empty() &&
                    cache.blocks.front().keys.rank() == 4;
  if (!fits) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("a cache of {} blocks for a model of {}", cache.blocks.size(), blocks),
          .expected = "what cache(…) of the same model gave, or what hidden(…) returned",
          .where = where});
  }
  return cache.blocks.front().keys.size(2);
}

Tensor positions_from(const Tensor& position, std::int64_t count) { return arange(count) + position; }

}  // namespace tidemark::nn
