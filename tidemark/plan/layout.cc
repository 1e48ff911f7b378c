// Layout: every buffer gets its offset in the arena. Sizes are rounded to the alignment, so that a height is the sum
// of what is stacked and the maximum load is a bound that can be met.
#include <algorithm>

#include "tidemark/plan/pack.h"
#include "tidemark/plan/passes.h"

namespace tidemark {
namespace {

constexpr double work_per_buffer = 30'000;  // of pack(); a third of a second for 10,000 buffers
constexpr double least_work = 50e6;

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
  const double work =
      std::max(least_work, work_per_buffer * static_cast<double>(items.size())) * draft.effort;
  // With a budget every byte above the load costs time elsewhere.
  constexpr double for_a_budget = 4;
  const PackResult packed =
      pack(items, {.work = static_cast<std::int64_t>(work * (draft.arena_budget >= 0 ? for_a_budget : 1))});
  draft.arena_bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    draft.buffers[owner[i]].offset = packed.offsets[i];
    draft.arena_bytes = std::max(draft.arena_bytes, packed.offsets[i] + items[i].size);
  }
  return draft;
}

}  // namespace tidemark
