// Layout: every buffer gets its offset in the arena. Sizes are rounded to the alignment, so that a height is the sum
// of what is stacked and the maximum load is a bound that can be met.
#include <algorithm>

#include "tidemark/plan/passes.h"

namespace tidemark {
namespace {

struct PackItem {
  std::int64_t lower, upper, size, alignment;
};

// Largest first, each at the lowest free offset.
std::vector<std::int64_t> place(const std::vector<PackItem>& items) {
  std::vector<std::size_t> order(items.size()), placed;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return items[i].size; });
  std::vector<std::int64_t> offsets(items.size(), 0);
  for (std::size_t i : order) {
    std::int64_t at = 0;
    for (std::size_t j : placed) {  // by offset
      if (items[j].upper <= items[i].lower || items[i].upper <= items[j].lower) continue;
      if (offsets[j] >= at + items[i].size) break;
      at = std::max(at, offsets[j] + items[j].size);
    }
    offsets[i] = at;
    placed.insert(std::ranges::upper_bound(placed, at, {}, [&](std::size_t j) { return offsets[j]; }), i);
  }
  return offsets;
}

}  // namespace

Draft layout(Draft draft) {
  std::vector<PackItem> items;
  std::vector<std::size_t> owner;
  for (std::size_t b = 0; b < draft.buffers.size(); ++b) {
    Buffer& buffer = draft.buffers[b];
    if (buffer.memory != Memory::arena) continue;
    buffer.offset = 0;
    if (buffer.bytes == 0) continue;
    items.push_back({.lower = buffer.begin,
                     .upper = buffer.end,
                     .size = align_up(buffer.bytes, buffer_alignment),
                     .alignment = buffer_alignment});
    owner.push_back(b);
  }
  const std::vector<std::int64_t> offsets = place(items);
  draft.arena_bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    draft.buffers[owner[i]].offset = offsets[i];
    draft.arena_bytes = std::max(draft.arena_bytes, offsets[i] + items[i].size);
  }
  return draft;
}

}  // namespace tidemark
