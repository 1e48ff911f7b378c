// Layout: every buffer gets its offset in the arena. Sizes are rounded to the alignment, so that a height is
// the sum of what is stacked and the maximum load is a bound that can be met.
#include <algorithm>

#include "tidemark/plan/passes/passes.h"
#include "tidemark/solve/pack/pack.h"

namespace tidemark {
namespace {

constexpr double work_per_buffer = 30'000;  // of pack(); a third of a second for 10,000 buffers
constexpr double least_work = 50e6;
constexpr double rough_per_buffer = 10'000, least_rough = 1e6;  // one of many for a budget
constexpr double least_for_a_budget = 20e6;                     // the last of these

}  // namespace

Draft layout(Draft draft) {
  std::vector<PackItem> items;
  std::vector<std::size_t> owner;
  for (std::size_t b = 0; b < draft.buffers.size(); ++b) {
    Buffer& buffer = draft.buffers[b];
    if (buffer.binding != Binding::arena) continue;
    buffer.offset = 0;
    if (buffer.bytes == 0) continue;
    items.push_back({.lower = buffer.begin,
                     .upper = buffer.end,
                     .size = draft.target->aligned(buffer.bytes),
                     .alignment = draft.target->alignment});
    owner.push_back(b);
  }
  const double buffers = static_cast<double>(items.size());
  const double least = draft.arena_budget >= 0 ? least_for_a_budget : least_work;
  const double work = draft.rough_layout ? least_rough + rough_per_buffer * buffers
                                         : std::max(least, work_per_buffer * buffers) * draft.work_factor;
  constexpr double most_work = 1e18;
  PackOptions options{.work = static_cast<std::int64_t>(std::min(most_work, work)), .control = draft.control};
  if (draft.layout_height >= 0) options.capacity = draft.layout_height;
  const PackResult packed = pack(items, options);
  constexpr std::int64_t steps_a_unit = 1000;  // of pack(): of a nanosecond each
  draft.work_units += packed.work / steps_a_unit;
  draft.arena_bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    draft.buffers[owner[i]].offset = packed.offsets[i];
    draft.arena_bytes = std::max(draft.arena_bytes, packed.offsets[i] + items[i].size);
  }
  return draft;
}

}  // namespace tidemark
