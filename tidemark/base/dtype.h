// The element types. bf16 and f16 are storage formats: kernels compute on them in f32 and round once on the store.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

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

// The C++ type that stores each dtype, and back.
template <DType>
struct StorageOf;
template <>
struct StorageOf<DType::f32> {
  using type = float;
};
template <>
struct StorageOf<DType::f64> {
  using type = double;
};
template <>
struct StorageOf<DType::bf16> {
  using type = BFloat16;
};
template <>
struct StorageOf<DType::f16> {
  using type = Float16;
};
template <>
struct StorageOf<DType::i32> {
  using type = std::int32_t;
};
template <>
struct StorageOf<DType::i64> {
  using type = std::int64_t;
};
template <>
struct StorageOf<DType::u8> {
  using type = std::uint8_t;
};
template <>
struct StorageOf<DType::boolean> {
  using type = bool;
};
template <DType T>
using storage_t = typename StorageOf<T>::type;

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

// Calls f.template operator()<T>() with the storage type of `t`.
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f16:
      return f.template operator()<Float16>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::f32:
      break;
  }
  return f.template operator()<float>();
}

}  // namespace tidemark
