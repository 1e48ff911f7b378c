// A set of small numbers as bits, of a size known when compiled.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tidemark {

template <std::size_t words>
struct BitSet {
  std::array<std::uint64_t, words> word{};

  bool has(int i) const { return word[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1; }
  void add(int i) { word[static_cast<std::size_t>(i / 64)] |= std::uint64_t{1} << (i % 64); }
  bool within(const BitSet& other) const {
    for (std::size_t w = 0; w < words; ++w) {
      if (word[w] & ~other.word[w]) return false;
    }
    return true;
  }
  bool meets(const BitSet& other) const {
    for (std::size_t w = 0; w < words; ++w) {
      if (word[w] & other.word[w]) return true;
    }
    return false;
  }
  int count() const {
    int sum = 0;
    for (std::uint64_t w : word) sum += std::popcount(w);
    return sum;
  }
  BitSet with(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] |= word[w];
    return other;
  }
  BitSet common(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] &= word[w];
    return other;
  }
  BitSet without(BitSet other) const {
    for (std::size_t w = 0; w < words; ++w) other.word[w] = word[w] & ~other.word[w];
    return other;
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t rest = word[w]; rest != 0; rest &= rest - 1) {
        f(static_cast<int>(w) * 64 + std::countr_zero(rest));
      }
    }
  }
  bool operator==(const BitSet&) const = default;
};

}  // namespace tidemark
