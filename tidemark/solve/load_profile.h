// Bytes alive over time, with bytes added to stretches of it and the highest point of a stretch asked for,
// both in logarithmic time: a segment tree.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tidemark {

class LoadProfile {
 public:
  explicit LoadProfile(int steps)
      : steps_(steps), most_(4 * static_cast<std::size_t>(std::max(steps, 1)), 0), added_(most_) {}

  // Over steps [first, last].
  void add(int first, int last, std::int64_t bytes) {
    if (bytes != 0 && first <= last) add(1, 0, steps_ - 1, first, last, bytes);
  }
  std::int64_t most(int first, int last) const {
    return first <= last ? most(1, 0, steps_ - 1, first, last) : 0;
  }
  std::int64_t most() const { return most_[1]; }

 private:
  void add(std::size_t node, int low, int high, int first, int last, std::int64_t bytes) {
    if (first <= low && high <= last) {
      most_[node] += bytes;
      added_[node] += bytes;
      return;
    }
    const int middle = low + (high - low) / 2;
    if (first <= middle) add(2 * node, low, middle, first, last, bytes);
    if (last > middle) add(2 * node + 1, middle + 1, high, first, last, bytes);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
  }
  std::int64_t most(std::size_t node, int low, int high, int first, int last) const {
    if (first <= low && high <= last) return most_[node];
    const int middle = low + (high - low) / 2;
    std::int64_t found = std::numeric_limits<std::int64_t>::min();
    if (first <= middle) found = std::max(found, most(2 * node, low, middle, first, last));
    if (last > middle) found = std::max(found, most(2 * node + 1, middle + 1, high, first, last));
    return found + added_[node];
  }

  int steps_;
  std::vector<std::int64_t> most_, added_;
};

}  // namespace tidemark
