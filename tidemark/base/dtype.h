// The element types. bf16 and f16 are storage formats: kernels compute on them in f32 and round once on the
// store.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tidemark/base/number.h"

namespace tidemark {

enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8, boolean };
inline constexpr int dtype_count = 8;

constexpr std::int64_t size_of(DType t) {
  constexpr std::int64_t sizes[] = {4, 8, 2, 2, 4, 8, 1, 1};
  return sizes[static_cast<int>(t)];
}
constexpr std::string_view name_of(DType t) {
  constexpr std::string_view names[] = {"f32", "f64", "bf16", "f16", "i32", "i64", "u8", "bool"};
  return names[static_cast<int>(t)];
}
std::optional<DType> dtype_named(std::string_view name);

constexpr bool is_float(DType t) { return t <= DType::f16; }
constexpr bool is_integer(DType t) { return t >= DType::i32 && t <= DType::u8; }

// Storage formats of 16 bits. Conversions round to nearest even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float x);
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  friend bool operator==(BFloat16 a, BFloat16 b) { return float(a) == float(b); }
};
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float x);
  explicit operator float() const;
  friend bool operator==(Float16 a, Float16 b) { return float(a) == float(b); }
};

inline BFloat16::BFloat16(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<std::uint16_t>((u >> 16) | 0x40u);  // quiet NaN
  } else {
    bits = static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
}

template <class T>
inline constexpr bool is_16_bit_float = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

// The type that computes for a stored type: f32 for the 16-bit formats, the others for themselves.
template <class T>
using compute_t = std::conditional_t<is_16_bit_float<T>, float, T>;

// To f32, rounded to odd: of the two neighbours the one with an odd significand, unless exact. Rounding that
// to 16 bits gives what rounding the original once would have given (Boldo & Melquiond 2008).
inline float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  if (!finite || (bits & 1u) || static_cast<double>(nearest) == x) return nearest;
  // The odd neighbour on the side of x.
  const bool away = x < 0 ? x < static_cast<double>(nearest) : x > static_cast<double>(nearest);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}
inline float round_to_odd(std::int64_t x) {
  // Bits below the 40th from the top only matter as "not zero": fold them into the lowest kept one.
  constexpr std::int64_t low_mask = (std::int64_t{1} << 20) - 1;
  const bool large = x > (std::int64_t{1} << 50) || x < -(std::int64_t{1} << 50);
  return round_to_odd(static_cast<double>(large && (x & low_mask) ? (x & ~low_mask) | (low_mask + 1) : x));
}

// The dtype of what a C++ type stores.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no dtype stores this C++ type");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<Float16> = DType::f16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

// Calls f.template operator()<T>() with the storage type of `t`, a floating dtype.
template <class F>
decltype(auto) dispatch_float(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f16:
      return f.template operator()<Float16>();
    default:
      return f.template operator()<float>();
  }
}

// The same for any dtype.
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    default:
      return dispatch_float(t, f);
  }
}

// One stored element as a number, exactly, and a number stored as an element: rounded once to a float; cut
// off to an integer, at the bounds of the type where it is beyond them, and wrapped around if it was whole.
Number read_element(DType dtype, const std::byte* from);
void write_element(DType dtype, const Number& value, std::byte* to);

// Is it a number of the dtype? Floating-point dtypes take every number, rounded.
bool fits(DType dtype, const Number& number);
std::string range_text(DType dtype);  // "a whole number from 0 to 255"

}  // namespace tidemark
