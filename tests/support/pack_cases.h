// Small random packing cases and their optima by enumeration: what the tests of the packer share.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tidemark/solve/pack/pack.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark::packing {

using Items = std::vector<PackItem>;

inline int below(Noise& noise, int n) { return static_cast<int>(noise.uniform() * n); }

inline Items random_items(Noise& noise, int count, int times, int sizes, int alignments = 1) {
  Items items;
  for (int i = 0; i < count; ++i) {
    const int lower = below(noise, times);
    const int upper = lower + 1 + below(noise, times - lower);
    items.push_back({lower, upper, below(noise, sizes + 1), std::int64_t{1} << below(noise, alignments)});
  }
  return items;
}

// Lifetimes that fill every time up to the same load, cut at random: here the optimum is often above the
// load.
inline Items tight_items(Noise& noise, int times, int load) {
  Items items;
  std::vector<std::pair<int, int>> open;  // begin, size
  int used = 0;
  for (int t = 0; t <= times; ++t) {
    std::erase_if(open, [&](const std::pair<int, int>& o) {
      if (t < times && noise.uniform() < 0.7) return false;
      items.push_back({o.first, t, o.second});
      used -= o.second;
      return true;
    });
    while (t < times && used < load) {
      const int size = 1 + below(noise, std::min(4, load - used));
      open.emplace_back(t, size);
      used += size;
    }
  }
  return items;
}

// By trying every offset for every item in turn.
inline bool exists(const Items& items, std::int64_t height, std::vector<std::int64_t>& offsets) {
  const std::size_t i = offsets.size();
  if (i == items.size()) return true;
  for (std::int64_t offset = 0; offset + items[i].size <= height; ++offset) {
    bool free = true;
    for (std::size_t j = 0; j < i && free; ++j)
      free = items[i].lower >= items[j].upper || items[j].lower >= items[i].upper ||
             offset >= offsets[j] + items[j].size || offsets[j] >= offset + items[i].size;
    if (!free) continue;
    offsets.push_back(offset);
    if (exists(items, height, offsets)) return true;
    offsets.pop_back();
  }
  return false;
}

inline std::int64_t least_height(Items items) {
  std::erase_if(items, [](const PackItem& item) { return item.size == 0; });
  std::sort(items.begin(), items.end(),
            [](const PackItem& a, const PackItem& b) { return a.lower < b.lower; });
  for (std::int64_t height = max_load(items);; ++height) {
    std::vector<std::int64_t> offsets;
    if (exists(items, height, offsets)) return height;
  }
}

}  // namespace tidemark::packing
