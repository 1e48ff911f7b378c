#include "tidemark/runtime/recorded_times.h"

#include <algorithm>

namespace tidemark {

void RegionTimes::clear() {
  runs = 0;
  std::ranges::fill(nanoseconds, 0);
  for (RegionTimes& region : regions) region.clear();
}

void RecordedTimes::clear() {
  for (RegionTimes& region : regions) region.clear();
}

std::int64_t RegionTimes::held_bytes() const {
  auto bytes = static_cast<std::int64_t>(sizeof(*this) + nanoseconds.capacity() * sizeof(nanoseconds[0]));
  for (const RegionTimes& region : regions) bytes += region.held_bytes();
  return bytes;
}

std::int64_t RecordedTimes::held_bytes() const {
  auto bytes = static_cast<std::int64_t>(sizeof(*this) + commands.capacity() * sizeof(commands[0]));
  for (const RegionTimes& region : regions) bytes += region.held_bytes();
  return bytes;
}

}  // namespace tidemark
