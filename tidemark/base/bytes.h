// Byte counts as a type of their own, with literals (`512_MiB`), text ("1.50 GiB") and parsing ("2GiB", "512
// MB").
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

struct Bytes {
  std::int64_t count = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t n) : count(n) {}
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes other) { return count += other.count, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count -= other.count, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count + b.count); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count - b.count); }
};

// 1536 → "1.50 KiB"; below 1 KiB in whole bytes.
std::string to_string(Bytes bytes);

// "4096", "64MiB", "1.5 GB" (decimal units are powers of 1000); of 0.1 GiB the whole bytes. Throws Error on
// anything else: negative, overflowing, "1.5" bytes.
Bytes parse_bytes(std::string_view text);

// The next multiple of `alignment` (a power of two).
constexpr std::int64_t align_up(std::int64_t n, std::int64_t alignment) {
  return (n + alignment - 1) & -alignment;
}

// Every buffer starts at a multiple of this, and so does scratch. One cache line; enough for any vector
// register.
inline constexpr std::int64_t buffer_alignment = 64;

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n << 10)); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n << 20)); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n << 30)); }
}  // namespace literals

}  // namespace tidemark
