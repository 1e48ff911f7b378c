// Numbers in 8 bits as tensor cores take them: the formats E4M3 and E5M2 of the Open Compute Project. They
// are not those of quant_format.h, whose codes are made by the CPU alone and keep infinities in both: here
// E4M3 has no infinity, and its largest number is 448 instead of 240.
//
//   format   sign, exponent, significand bits   largest   smallest   not a number
//   e4m3     1, 4, 3                            448       2⁻⁹        0x7f, 0xff
//   e5m2     1, 5, 2                            57344     2⁻¹⁶       0x7d … 0x7f, 0xfd … 0xff; 0x7c, 0xfc: ∞
//
// Compiles with NVRTC too: a GPU without instructions for it makes the same codes.
#pragma once
#include <bit>
#include <cstdint>

namespace tidemark {

enum class Fp8Format : std::uint8_t { e4m3, e5m2 };

struct Fp8Facts {
  int digits = 0;        // stored bits of the significand
  int bias = 0;          // of exponents
  int top_exponent = 0;  // of the largest number, which is 1.75 times that power of two in both formats
};
constexpr Fp8Facts facts_of(Fp8Format format) {
  return format == Fp8Format::e4m3 ? Fp8Facts{3, 7, 8} : Fp8Facts{2, 15, 15};
}

inline constexpr std::uint8_t fp8_nan = 0x7f;  // what codes are made of; all that are none are read as NaN
inline constexpr std::uint32_t f32_magnitude = 0x7fffffff, f32_infinity = 0x7f800000;

// The bits of |x| where x is a number, 0 where it is none: as whole numbers they are in the order of
// magnitudes.
constexpr std::uint32_t fp8_magnitude(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & f32_magnitude;
  return bits < f32_infinity ? bits : 0;
}

// The scale of numbers whose largest magnitude has these bits: the least power of two by which none of them,
// divided, is too large for the format. It is no less than 2⁻¹²⁶, so that its inverse, by which they are
// multiplied, is exact; 1 where all are zero.
constexpr float fp8_scale(Fp8Format format, std::uint32_t largest) {
  if (largest == 0) return 1;
  const bool above = (largest & 0x7fffff) > 0x600000;  // more than 1.75 times its power of two
  int exponent = static_cast<int>(largest >> 23) - facts_of(format).top_exponent + (above ? 1 : 0);
  if (exponent < 1) exponent = 1;
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
}

// The nearest code, of two equally near the even one; what is too large becomes the largest number.
constexpr std::uint8_t fp8_code(Fp8Format format, float x) {
  const Fp8Facts facts = facts_of(format);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t magnitude = bits & f32_magnitude;
  if (magnitude >= f32_infinity) return fp8_nan;
  const std::uint32_t most = (static_cast<std::uint32_t>(127 + facts.top_exponent) << 23) | 0x600000;
  if (magnitude > most) magnitude = most;
  const std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - facts.bias) << 23;
  std::uint32_t code = 0;
  if (magnitude >= smallest_normal) {
    const int cut = 23 - facts.digits;  // bits that go
    const std::uint32_t odd = (magnitude >> cut) & 1, nearly_half = (1u << (cut - 1)) - 1;
    code = (magnitude + nearly_half + odd - (static_cast<std::uint32_t>(127 - facts.bias) << 23)) >> cut;
  } else {
    // Beside this number the distance of floats is that of the smallest codes: the sum is rounded to them.
    const std::uint32_t anchor = static_cast<std::uint32_t>(127 + 1 - facts.bias - facts.digits + 23) << 23;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(anchor);
    code = std::bit_cast<std::uint32_t>(sum) - anchor;
  }
  return static_cast<std::uint8_t>(code | ((bits >> 24) & 0x80u));
}

constexpr float fp8_value(Fp8Format format, std::uint8_t code) {
  const Fp8Facts facts = facts_of(format);
  const std::uint32_t magnitude = code & 0x7fu, sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
  if (format == Fp8Format::e4m3 ? magnitude == 0x7f : magnitude > 0x7c)
    return std::bit_cast<float>(0x7fc00000u);
  if (format == Fp8Format::e5m2 && magnitude == 0x7c) return std::bit_cast<float>(f32_infinity | sign);
  // Exponent and significand read as those of an f32 are 2^(127 - bias) too small, subnormals included.
  const float small = std::bit_cast<float>(magnitude << (23 - facts.digits));
  const float factor = std::bit_cast<float>(static_cast<std::uint32_t>(254 - facts.bias) << 23);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(small * factor) | sign);
}

}  // namespace tidemark
