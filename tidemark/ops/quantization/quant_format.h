// Formats in which a floating-point value takes fewer bytes, with bytes and an error that are known before
// anything runs. Unlike the codecs of ir/codec.h, which plans may apply at will, they lose digits: a graph
// says where by `quantize` and `dequantize` (quantize.h), and the planner keeps whichever value is smaller.
//
// The elements in row-major order are cut into blocks of 128, the last one shorter. A block is
//
//   | scale: f32, for f64 an f64 | codes, one per element, without gaps |
//
// so a block is read and written in one go and the whole is one vector of bytes. A code stands for a number
// between about -1 and 1, times the scale: range is never the problem, whatever the dtype's exponents are.
//
//   format   code                                      scale                        |decoded - x| ≤ M times
//   bf16     8 significant bits, as the dtype          the power of two below M     2⁻⁸
//   f16      11 significant bits, as the dtype         likewise                     2⁻¹¹
//   e4m3     4 exponent bits, 4 significant bits       likewise                     2⁻⁴
//   e5m2     5 exponent bits, 3 significant bits       likewise                     2⁻³
//   int8     whole, -127 … 127, in units of 1/127      M                            1/254, and 2⁻²¹ to round
//   int4     whole, -7 … 7, in units of 1/7            M                            1/14, likewise
//
// M is the largest finite magnitude in the block. The first four round each number to so many significant
// bits as long as it is not below M · 2^(exponent of the smallest normal code - that of the largest), so
// their error is also relative to the number itself; whole numbers share one step size per block.
//
// Infinities and NaN stay what they are, at the same size: a block that holds any has a scale with its sign
// set, and in such a block three codes are no numbers. Whole numbers then count to 126 (or 6), which is
// `mixed_error`. The sign and payload of a NaN are lost, so that codes depend on what Tidemark promises of a
// NaN and on nothing else. The four float formats keep the sign of a zero, whole numbers do not.
//
// Rounding is to nearest even; quantizing what was dequantized gives the same bytes again. With a key it is
// stochastic: up or down, so that the mean is the number itself; the error is then at most twice as large.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "tidemark/ir/type.h"

namespace tidemark {

enum class QuantFormat : std::uint8_t { bf16, f16, e4m3, e5m2, int8, int4 };

inline constexpr std::int64_t quant_block = 128;  // elements that share a scale

struct QuantFacts {
  std::string_view name;
  int code_bits = 8;
  int precision = 0;       // significant bits of a code; 0: a whole number
  int top_exponent = 0;    // of the largest codes, which are below 2^(top_exponent + 1)
  int last_exponent = 0;   // of the distance between the smallest codes
  int steps = 0;           // the largest whole number
  double error = 0;        // |decoded - x| relative to the block's largest magnitude, in f32 and f64
  double mixed_error = 0;  // the same in blocks that also hold an infinity or NaN
  std::uint32_t infinity = 0, minus_infinity = 0, nan = 0;  // codes, in such blocks

  constexpr bool is_whole() const { return precision == 0; }
};

// In the order of the enumeration. Binary formats have the codes of IEEE 754 for what is no number.
inline constexpr QuantFacts quant_facts[] = {
    {"bf16", 16, 8, 0, -133, 0, 0x1p-8, 0x1p-8, 0x7f80, 0xff80, 0x7fc0},
    {"f16", 16, 11, 15, -24, 0, 0x1p-11, 0x1p-11, 0x7c00, 0xfc00, 0x7e00},
    {"e4m3", 8, 4, 7, -9, 0, 0x1p-4, 0x1p-4, 0x78, 0xf8, 0x7c},
    {"e5m2", 8, 3, 15, -16, 0, 0x1p-3, 0x1p-3, 0x7c, 0xfc, 0x7e},
    {"int8", 8, 0, 0, 0, 127, 1 / 254.0 + 0x1p-21, 1 / 252.0 + 0x1p-21, 0x7f, 0x81, 0x80},
    {"int4", 4, 0, 0, 0, 7, 1 / 14.0 + 0x1p-21, 1 / 12.0 + 0x1p-21, 0x7, 0x9, 0x8},
};
inline constexpr int quant_format_count = 6;

constexpr const QuantFacts& facts_of(QuantFormat format) { return quant_facts[static_cast<int>(format)]; }
constexpr std::string_view name_of(QuantFormat format) { return facts_of(format).name; }
std::optional<QuantFormat> quant_format_named(std::string_view name);

// Bytes of a block's scale, of so many codes, and of all that `quantize` makes of a value.
constexpr std::int64_t scale_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
constexpr std::int64_t code_bytes(QuantFormat format, std::int64_t count) {
  return (count * facts_of(format).code_bits + 7) / 8;
}
std::int64_t quantized_bytes(QuantFormat format, const Type& type);
Type quantized_type(QuantFormat format, const Type& type);  // u8[quantized_bytes]

// The bound on |dequantize(quantize(x)) - x|: the larger of the two figures of the facts where `mixed`, and
// for whole numbers in a 16-bit dtype one more rounding, to that dtype. Where M is so small that numbers of
// the dtype lie on a fixed grid (f32: M < 2⁻¹²⁶), whole numbers may miss it by half of that grid's distance.
double quantization_error(QuantFormat format, DType dtype, bool stochastic = false, bool mixed = false);

}  // namespace tidemark
