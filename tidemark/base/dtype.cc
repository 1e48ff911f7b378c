#include "tidemark/base/dtype.h"

#include <cstring>

namespace tidemark {

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Float16::Float16(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (u >> 16) & 0x8000u;
  const std::uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00u);  // quiet NaN
  } else if (magnitude >= 0x477ff000u) {
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity: |x| ≥ 65520
  } else if (magnitude < 0x38800000u) {
    // Subnormal or zero in f16. Adding 0.5 puts the f16 subnormal unit 2^-24 in the last place of the f32
    // significand (ulp(0.5) = 2^-24), so the hardware rounds to nearest even for us.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  } else {
    const std::uint32_t rebias = magnitude - 0x38000000u;  // exponent 127 → 15
    bits = static_cast<std::uint16_t>(sign | ((rebias + 0xfffu + ((rebias >> 13) & 1u)) >> 13));
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {  // subnormal: magnitude × 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

Number read_element(DType dtype, const std::byte* from) {
  return dispatch(dtype, [&]<class T>() {
    T element;
    std::memcpy(&element, from, sizeof(T));
    return Number(static_cast<compute_t<T>>(element));
  });
}

void write_element(DType dtype, const Number& value, std::byte* to) {
  dispatch(dtype, [&]<class T>() {
    T element;
    if constexpr (is_16_bit_float<T>) {
      element = T(value.is_whole() ? round_to_odd(value.whole()) : round_to_odd(value.real()));
    } else {
      element = value.as<T>();
    }
    std::memcpy(to, &element, sizeof(T));
  });
}

bool fits(DType dtype, const Number& number) {
  return is_float(dtype) || dispatch(dtype, [&]<class T>() {
           if constexpr (is_16_bit_float<T>) {
             return true;
           } else {
             return number.fits<T>();
           }
         });
}

std::string range_text(DType dtype) {
  switch (dtype) {
    case DType::i32:
      return "a whole number from -2147483648 to 2147483647";
    case DType::i64:
      return "a whole number from -2^63 to 2^63 - 1";
    case DType::u8:
      return "a whole number from 0 to 255";
    case DType::boolean:
      return "0 or 1";
    default:
      return "a number";
  }
}

}  // namespace tidemark
