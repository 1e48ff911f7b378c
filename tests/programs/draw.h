// Random choices that depend on a seed alone, the same on every machine (SplitMix64, Steele, Lea & Flood
// 2014). A branch is a stream of its own, so that what is drawn in one part of a program does not depend on
// how much was drawn in another.
#pragma once
#include <cstdint>

#include "tidemark/base/check.h"

namespace tidemark::testing {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}

  Draw branch(std::uint64_t number) const {
    Draw copy(state_ ^ (number + 1) * 0xd1342543de82ef95u);
    return Draw(copy.bits());
  }
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int below(std::int64_t n) {
    TM_CHECK(n > 0);
    return static_cast<int>(bits() % static_cast<std::uint64_t>(n));
  }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& from(const List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(list))))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tidemark::testing
