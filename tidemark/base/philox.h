// Philox-4x32-10, a counter-based generator (Salmon et al., SC 2011): the i-th block of a key is a pure
// function, so a replayed dropout mask or initialisation has the same bits whatever ran before it.
#pragma once
#include <array>
#include <cstdint>

namespace tidemark {

struct Philox {
  std::uint64_t key;

  // Four uniform 32-bit words for block `counter` of stream `stream`.
  constexpr std::array<std::uint32_t, 4> operator()(std::uint64_t counter, std::uint64_t stream = 0) const {
    std::array<std::uint32_t, 4> c = {
        static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
        static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }
};

// Uniform in [0, 1) with 24 bits, from one word.
constexpr float unit_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
// Uniform in [0, 1) with 53 bits, from two words.
constexpr double unit_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

}  // namespace tidemark
