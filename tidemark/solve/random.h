// A small generator for the searches (splitmix64): the same numbers everywhere, cheap to seed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tidemark {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  std::uint64_t state_;
};

}  // namespace tidemark
