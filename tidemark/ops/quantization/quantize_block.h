// What happens once per block of 128 elements, number by number: the scale, the codes of what is no number,
// stochastic rounding. The vector kernel (quantize.cpu.cc) does the rest. W computes: float, or double for
// f64.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "tidemark/base/philox.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

// Attributes of either op, unpacked once before a plan runs.
struct QuantForm {
  QuantFormat format = QuantFormat::int8;
  std::uint64_t stream = 0;  // of Philox
};

constexpr int max_exponent_of(DType dtype) {
  return dtype == DType::f64 ? 1023 : dtype == DType::f16 ? 15 : 127;
}

// 2^e for any e that a double has, -1074 … 1023.
constexpr double power_of_two(int e) {
  const std::uint64_t bits =
      e < -1022 ? std::uint64_t{1} << (e + 1074) : static_cast<std::uint64_t>(e + 1023) << 52;
  return std::bit_cast<double>(bits);
}

// x = significand · 2^exponent with 1 ≤ significand < 2, for finite x > 0.
struct BinaryParts {
  double significand = 1;
  int exponent = 0;
};
constexpr BinaryParts binary_parts_of(double x) {
  constexpr double lift = 0x1p64;  // makes a normal number of a subnormal one
  const bool small = x < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(small ? x * lift : x);
  const int exponent = static_cast<int>(bits >> 52) - 1023 - (small ? 64 : 0);
  return {std::bit_cast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull), exponent};
}

// round_to_odd (base/dtype.h) of a finite number within the range of f32, without branches: half of them
// would be guessed wrong. Towards zero, and then the last bit says whether anything was lost.
inline float odd_float(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  const std::uint32_t beyond = std::abs(back) > std::abs(x) ? 1 : 0, inexact = back != x ? 1 : 0;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - beyond) | inexact);
}

// The largest number that a code stands for before it is scaled.
constexpr float largest_code(const QuantFacts& facts, bool mixed) {
  if (facts.is_whole()) return static_cast<float>(facts.steps - (mixed ? 1 : 0));
  return static_cast<float>((2 - power_of_two(1 - facts.precision)) * power_of_two(facts.top_exponent));
}

// A code times this and times the block's scale is the element. 1/127, 1/126, 1/7 and 1/6 are such that the
// largest code gives 1 and so the scale itself, rounding included, in f32 and in f64: M comes back as it was.
template <class W>
constexpr W code_unit(const QuantFacts& facts, bool mixed) {
  if (facts.is_whole()) return W(1) / static_cast<W>(facts.steps - (mixed ? 1 : 0));
  return static_cast<W>(power_of_two(-facts.top_exponent));
}

template <class W>
struct BlockScale {
  W stored = 0;             // what is written, or its negative where the block is mixed
  W first = 1, second = 0;  // x · first · second is rounded to the code: one factor might overflow
  float limit = 0;          // what is beyond it becomes this before it is rounded
  bool plain = true;        // `first` is 1 and rounding to nearest goes nowhere beyond the limit
};

// The scale of a block whose largest finite magnitude is `largest`. `max_exponent`: of the dtype; the power
// of two above its largest number is none of its numbers, so codes must not round up to it.
template <class W>
BlockScale<W> scale_of(const QuantFacts& facts, W largest, bool mixed, bool stochastic, int max_exponent) {
  BlockScale<W> scale{.limit = largest_code(facts, mixed)};
  if (!(largest > 0)) return scale;  // all zeros, which keep their signs
  if (facts.is_whole()) {
    // The reciprocal of a number this small might overflow.
    constexpr bool is_double = sizeof(W) == 8;
    constexpr W small = static_cast<W>(is_double ? 0x1p-512 : 0x1p-64),
                lift = static_cast<W>(is_double ? 0x1p512 : 0x1p64);
    scale.stored = largest;
    scale.first = largest < small ? lift : W(1);
    scale.second = static_cast<W>(scale.limit) / (largest * scale.first);
    scale.plain = scale.first == 1;
    return scale;
  }
  // The scale follows from the largest magnitude as rounded, so that quantizing again finds the same one:
  // half a unit below the next power of two is already that. At random it may be rounded up from anywhere.
  const BinaryParts parts = binary_parts_of(static_cast<double>(largest));
  const bool reaches_next = stochastic ? parts.significand > 2 - power_of_two(1 - facts.precision)
                                       : parts.significand >= 2 - power_of_two(-facts.precision);
  const int wanted = parts.exponent + (reaches_next ? 1 : 0), exponent = std::min(wanted, max_exponent);
  const int shift = facts.top_exponent - exponent;
  scale.stored = static_cast<W>(power_of_two(exponent));
  scale.plain = wanted == exponent && shift >= -100 && shift <= 100;
  const int half = scale.plain ? 0 : shift / 2;
  scale.first = static_cast<W>(power_of_two(half));
  scale.second = static_cast<W>(power_of_two(shift - half));
  return scale;
}

// Every number of a block to one of the two codes around it, the upper one as probable as it is near. The
// words are uniform. Loops without branches: compilers make vectors of them.
inline void round_at_random(const QuantFacts& facts, const std::uint32_t* words, float* numbers) {
  const auto rounded = [](float steps, std::uint32_t word) {
    const float below = std::floor(steps);
    return below + (unit_float(word) < steps - below ? 1.0f : 0.0f);
  };
  if (facts.is_whole()) {
    for (std::int64_t i = 0; i < quant_block; ++i) numbers[i] = rounded(numbers[i], words[i]);
    return;
  }
  const auto digits = static_cast<float>(power_of_two(1 - facts.precision)),
             smallest = static_cast<float>(power_of_two(facts.last_exponent));
  for (std::int64_t i = 0; i < quant_block; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[i]);
    const float below = std::bit_cast<float>(bits & 0x7f800000u) * digits;
    const float unit = below > smallest ? below : smallest;  // a power of two, so that dividing is exact
    const float magnitude = std::bit_cast<float>(bits & 0x7fffffffu);
    const float result = rounded(magnitude / unit, words[i]) * unit;
    numbers[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | (bits & 0x80000000u));
  }
}

// Code i of a block, in place.
inline std::uint32_t code_at(int bits, const std::byte* codes, std::int64_t i) {
  if (bits == 16) {
    std::uint16_t code;
    std::memcpy(&code, codes + 2 * i, 2);
    return code;
  }
  if (bits == 8) return std::to_integer<std::uint32_t>(codes[i]);
  return (std::to_integer<std::uint32_t>(codes[i / 2]) >> (4 * (i % 2))) & 15u;
}
inline void put_code(int bits, std::byte* codes, std::int64_t i, std::uint32_t code) {
  if (bits == 16) {
    const auto wide = static_cast<std::uint16_t>(code);
    std::memcpy(codes + 2 * i, &wide, 2);
  } else if (bits == 8) {
    codes[i] = static_cast<std::byte>(code);
  } else {
    const int shift = 4 * static_cast<int>(i % 2);
    codes[i / 2] =
        (codes[i / 2] & ~static_cast<std::byte>(15u << shift)) | static_cast<std::byte>(code << shift);
  }
}

// In a block that holds some: the codes of x where it is no number, over those that stand there.
template <class T>
void write_nonfinite(const QuantFacts& facts, const T* x, std::int64_t count, std::byte* codes) {
  using W = compute_t<T>;
  for (std::int64_t i = 0; i < count; ++i) {
    const W value = static_cast<W>(x[i]);
    if (std::isfinite(value)) continue;
    put_code(facts.code_bits, codes, i,
             std::isnan(value) ? facts.nan
             : value > 0       ? facts.infinity
                               : facts.minus_infinity);
  }
}
// And back, over the numbers that those codes would be.
template <class W>
void read_nonfinite(const QuantFacts& facts, const std::byte* codes, std::int64_t count, W* x) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t code = code_at(facts.code_bits, codes, i);
    if (code == facts.nan) x[i] = std::numeric_limits<W>::quiet_NaN();
    if (code == facts.infinity) x[i] = std::numeric_limits<W>::infinity();
    if (code == facts.minus_infinity) x[i] = -std::numeric_limits<W>::infinity();
  }
}

}  // namespace tidemark
