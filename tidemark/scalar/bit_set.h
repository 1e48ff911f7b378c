// A set of up to 256 inputs (or results) as an adjoint or a tangent: sums are unions, and a slope leaves it
// as it is.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace tidemark::scalars {

struct Bits {
  static constexpr std::size_t count = 256;
  std::array<std::uint64_t, count / 64> words{};

  void insert(std::size_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
  bool holds(std::size_t i) const { return (words[i / 64] >> (i % 64) & 1) != 0; }
  Bits& operator+=(const Bits& other) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
    return *this;
  }
  friend Bits operator*(double, const Bits& bits) { return bits; }
};
inline bool is_zero(const Bits& bits) {
  std::uint64_t any = 0;
  for (const std::uint64_t word : bits.words) any |= word;
  return any == 0;
}

}  // namespace tidemark::scalars
