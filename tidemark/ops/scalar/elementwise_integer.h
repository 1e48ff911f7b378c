// Integers as the formulas of scalar_math.h see them: arithmetic wraps around, division rounds downwards.
// x = y·(x / y) + x % y holds always, also where the quotient wraps (the least number by -1) and for y = 0,
// whose quotient has all bits set and whose remainder is x.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tidemark {

template <std::integral T>
struct Wrapping {
  using Bits = std::make_unsigned_t<T>;
  T v = 0;

  static constexpr Wrapping of(std::uint64_t bits) { return {static_cast<T>(static_cast<Bits>(bits))}; }
  constexpr std::uint64_t bits() const { return static_cast<std::uint64_t>(v); }

  friend Wrapping operator-(Wrapping x) { return of(0 - x.bits()); }
  friend Wrapping operator+(Wrapping x, Wrapping y) { return of(x.bits() + y.bits()); }
  friend Wrapping operator-(Wrapping x, Wrapping y) { return of(x.bits() - y.bits()); }
  friend Wrapping operator*(Wrapping x, Wrapping y) { return of(x.bits() * y.bits()); }
  friend Wrapping operator/(Wrapping x, Wrapping y) {
    if (y.v == 0) return of(~std::uint64_t{0});
    if (y.bits() == ~std::uint64_t{0}) return -x;  // the one quotient that overflows wraps too
    const T q = static_cast<T>(x.v / y.v), r = static_cast<T>(x.v % y.v);
    return {r != 0 && (r < 0) != (y.v < 0) ? static_cast<T>(q - 1) : q};
  }
  friend Wrapping mod(Wrapping x, Wrapping y) {
    if (y.v == 0) return x;
    if (y.bits() == ~std::uint64_t{0}) return {};
    const T r = static_cast<T>(x.v % y.v);
    return {r != 0 && (r < 0) != (y.v < 0) ? static_cast<T>(r + y.v) : r};
  }
  friend Wrapping abs(Wrapping x) { return x.v < 0 ? -x : x; }
  friend Wrapping sign(Wrapping x) { return {static_cast<T>(x.v > 0 ? 1 : x.v < 0 ? -1 : 0)}; }
  friend Wrapping maximum(Wrapping x, Wrapping y) { return x.v > y.v ? x : y; }
  friend Wrapping minimum(Wrapping x, Wrapping y) { return x.v < y.v ? x : y; }
  friend Wrapping constant_like(Wrapping, double c) { return {static_cast<T>(c)}; }
  friend bool equal(Wrapping x, Wrapping y) { return x.v == y.v; }
  friend bool not_equal(Wrapping x, Wrapping y) { return x.v != y.v; }
  friend bool less(Wrapping x, Wrapping y) { return x.v < y.v; }
  friend bool less_equal(Wrapping x, Wrapping y) { return x.v <= y.v; }
  friend bool greater(Wrapping x, Wrapping y) { return x.v > y.v; }
  friend bool greater_equal(Wrapping x, Wrapping y) { return x.v >= y.v; }
};

}  // namespace tidemark
