// Eight bytes that are 0 or 1 as the bits of one, the first in the lowest, and back. Without a loop: a
// product moves each to its place, and no two sums of its terms meet.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidemark {

static_assert(std::endian::native == std::endian::little, "the first byte is the lowest of a word");

inline std::byte bits_of_bytes(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return static_cast<std::byte>((word * 0x0102040810204080u) >> 56);
}

inline void bytes_of_bits(std::byte bits, std::uint8_t* bytes) {
  const std::uint64_t spread =
      (static_cast<std::uint64_t>(bits) * 0x0101010101010101u) & 0x8040201008040201u;  // byte i: bit i of it
  const std::uint64_t word = ((spread + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
  std::memcpy(bytes, &word, sizeof word);
}

}  // namespace tidemark
