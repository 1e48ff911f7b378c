// How much room sorting rows takes: the facts claim it, the kernel cuts it into slots.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tidemark {

// An element on its way: its place in the order as an unsigned number, and where it stood.
struct SortEntry {
  std::uint64_t key;
  std::int64_t index;
};

// Rows are dealt to this many slots, whatever the number of threads.
inline std::int64_t sort_slots(std::int64_t rows) { return std::min<std::int64_t>(rows, 16); }
inline std::int64_t sort_scratch(std::int64_t size, std::int64_t rows) {
  return sort_slots(rows) * size * std::int64_t{sizeof(SortEntry)};
}

}  // namespace tidemark
