#include "tidemark/solve/pack/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tidemark {
namespace {

struct Event {
  std::int64_t time;
  bool begins;  // ends sort before begins at the same time: lifetimes are half-open
  std::size_t item;
  friend auto operator<=>(const Event&, const Event&) = default;
};

}  // namespace

std::optional<PackFault> check_packing(std::span<const PackItem> items,
                                       std::span<const std::int64_t> offsets) {
  if (items.size() != offsets.size())
    return PackFault{0, 0, fmt::format("{} items but {} offsets", items.size(), offsets.size())};
  std::vector<Event> events;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (offsets[i] < 0) return PackFault{i, i, fmt::format("item {}: negative offset {}", i, offsets[i])};
    if (offsets[i] % items[i].alignment != 0)
      return PackFault{
          i, i, fmt::format("item {}: offset {} is not a multiple of {}", i, offsets[i], items[i].alignment)};
    if (items[i].size == 0 || items[i].lower >= items[i].upper) continue;
    events.push_back({items[i].lower, true, i});
    events.push_back({items[i].upper, false, i});
  }
  std::sort(events.begin(), events.end());

  std::map<std::int64_t, std::size_t> live;  // by offset; disjoint, so neighbours are all that need a look
  auto overlap = [&](std::size_t a, std::size_t b) {
    return PackFault{a, b,
                     fmt::format("items {} and {} share bytes at time {}", a, b,
                                 std::max(items[a].lower, items[b].lower))};
  };
  for (const Event& event : events) {
    const std::size_t i = event.item;
    if (!event.begins) {
      live.erase(offsets[i]);
      continue;
    }
    auto above = live.lower_bound(offsets[i]);
    if (above != live.end() && above->first - offsets[i] < items[i].size) return overlap(above->second, i);
    if (above != live.begin()) {
      auto below = std::prev(above);
      if (offsets[i] - below->first < items[below->second].size) return overlap(below->second, i);
    }
    live.emplace_hint(above, offsets[i], i);
  }
  return std::nullopt;
}

}  // namespace tidemark
