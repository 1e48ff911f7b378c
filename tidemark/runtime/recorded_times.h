// When the commands of a run began and ended, as a device notes it while they run. All of it is allocated
// before: a device that records writes numbers and does nothing else.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

namespace tidemark {

// Nanoseconds on the monotonic clock of the host.
inline std::int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct CommandTimes {
  std::int64_t begin = 0, end = 0;
};

// Of a region, which one command runs many times: sums.
struct RegionTimes {
  std::int64_t runs = 0;
  std::vector<std::int64_t> nanoseconds = {};  // per command of the region, over all runs
  std::vector<RegionTimes> regions = {};       // of its commands that have some, in order
  void clear();                                // as before the first run
  std::int64_t held_bytes() const;
};

struct RecordedTimes {
  std::int64_t begin = 0, end = 0;          // of the run
  std::vector<CommandTimes> commands = {};  // one for each
  std::vector<RegionTimes> regions = {};    // of those that have some, in order
  void clear();                             // the sums, before a run
  std::int64_t held_bytes() const;
};

}  // namespace tidemark
