#include "tests/support/quant_definition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/literals.h"

namespace tidemark::testing {

FloatRange float_range(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {std::numeric_limits<double>::max(), 0x1p-1022, 0x1p-1074, 1023};
    case DType::bf16:
      return {0x1.fep127, 0x1p-126, 0x1p-133, 127};
    case DType::f16:
      return {65504, 0x1p-14, 0x1p-24, 15};
    default:
      return {std::numeric_limits<float>::max(), 0x1p-126, 0x1p-149, 127};
  }
}

CodeLayout layout_of(QuantFormat format) {
  switch (format) {
    case QuantFormat::bf16:
      return {7, 127};
    case QuantFormat::f16:
      return {10, 15};
    case QuantFormat::e4m3:
      return {3, 7};
    default:
      return {2, 15};
  }
}
double value_of(CodeLayout layout, std::uint32_t code) {
  const int field = static_cast<int>(code >> layout.digits);
  const auto digits = static_cast<double>(code & ((1u << layout.digits) - 1));
  if (field == 0) return std::ldexp(digits, 1 - layout.bias - layout.digits);
  return std::ldexp(std::ldexp(1, layout.digits) + digits, field - layout.bias - layout.digits);
}
std::uint32_t last_code(QuantFormat format) {
  const CodeLayout layout = layout_of(format);
  const int field = facts_of(format).top_exponent + layout.bias;
  return (static_cast<std::uint32_t>(field + 1) << layout.digits) - 1;
}

namespace {

// The code of a magnitude: nearest, of two equally near the even one, at most `last`.
std::uint32_t nearest_code(CodeLayout layout, double magnitude, std::uint32_t last) {
  std::uint32_t low = 0, high = last;  // the largest code that is not above it
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (value_of(layout, middle) <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low == last) return low;
  const long double below = static_cast<long double>(magnitude) - value_of(layout, low);
  const long double above = static_cast<long double>(value_of(layout, low + 1)) - magnitude;
  return above < below || (above == below && low % 2 == 1) ? low + 1 : low;
}

template <class W>
void append(std::vector<std::uint8_t>& bytes, W value, std::size_t size = sizeof(W)) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + size);
}

// What becomes of one block: its scale without the sign that says `mixed`, and codes and numbers of what is
// finite in it.
template <class W>
struct Block {
  W scale = 0;
  std::vector<std::uint32_t> codes = {};
  std::vector<double> decoded = {};
};

template <class W>
Block<W> whole_numbers(const QuantFacts& facts, const std::vector<double>& x, double largest, bool mixed) {
  const W steps = static_cast<W>(facts.steps - (mixed ? 1 : 0)), most = static_cast<W>(largest);
  const W tiny = static_cast<W>(sizeof(W) == 8 ? 0x1p-512 : 0x1p-64);
  const W lift = most < tiny ? 1 / tiny : 1;
  const W inverse = largest > 0 ? steps / (most * lift) : 0;
  Block<W> block{.scale = most};
  for (double v : x) {
    const auto q = static_cast<int>(std::nearbyint(static_cast<W>(v) * lift * inverse));
    block.codes.push_back(static_cast<std::uint32_t>(q));
    block.decoded.push_back(static_cast<double>(static_cast<W>(q) * (1 / steps) * most));
  }
  return block;
}

template <class W>
Block<W> small_floats(QuantFormat format, DType dtype, const std::vector<double>& x, double largest) {
  const CodeLayout layout = layout_of(format);
  const int top = facts_of(format).top_exponent;
  const std::uint32_t sign_bit = 1u << (facts_of(format).code_bits - 1);
  Block<W> block;
  int exponent = 0;
  if (largest > 0) {
    exponent = std::ilogb(largest);
    const double units = std::nearbyint(std::ldexp(largest, layout.digits - exponent));
    if (units == std::ldexp(2, layout.digits)) ++exponent;  // rounded, it is the next power of two
    exponent = std::min(exponent, float_range(dtype).max_exponent);
    block.scale = static_cast<W>(std::ldexp(1.0, exponent));
  }
  for (double v : x) {
    const W t = std::ldexp(static_cast<W>(v), top - exponent);
    const std::uint32_t code = nearest_code(layout, std::abs(static_cast<double>(t)), last_code(format));
    block.codes.push_back(code | (std::signbit(v) ? sign_bit : 0));
    const W magnitude = std::ldexp(static_cast<W>(value_of(layout, code)), exponent - top);
    block.decoded.push_back(static_cast<double>(std::copysign(magnitude, static_cast<W>(v))));
  }
  return block;
}

// One block of elements of `dtype`, computed in W.
template <class W>
void define_block(QuantFormat format, DType dtype, const std::vector<double>& x,
                  DefinedQuantization& result) {
  const QuantFacts& facts = facts_of(format);
  std::vector<double> finite;
  double largest = 0;
  for (double v : x) {
    finite.push_back(std::isfinite(v) ? v : 0);
    largest = std::max(largest, std::abs(finite.back()));
  }
  const bool mixed = std::ranges::any_of(x, [](double v) { return !std::isfinite(v); });
  Block<W> block = facts.is_whole() ? whole_numbers<W>(facts, finite, largest, mixed)
                                    : small_floats<W>(format, dtype, finite, largest);
  append(result.bytes, mixed ? -block.scale : block.scale);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t code = block.codes[i];
    if (!std::isfinite(x[i])) {
      code = std::isnan(x[i]) ? facts.nan : x[i] > 0 ? facts.infinity : facts.minus_infinity;
      block.decoded[i] = x[i];
    }
    if (facts.code_bits > 4) {
      append(result.bytes, code, static_cast<std::size_t>(facts.code_bits / 8));
    } else {
      if (i % 2 == 0) result.bytes.push_back(0);
      result.bytes.back() = static_cast<std::uint8_t>(result.bytes.back() | (code & 15u) << (4 * (i % 2)));
    }
  }
  result.decoded.insert(result.decoded.end(), block.decoded.begin(), block.decoded.end());
}

}  // namespace

DefinedQuantization defined_quantization(QuantFormat format, const Literal& x) {
  const std::vector<double> values = values_of(x);
  DefinedQuantization result;
  for (std::size_t first = 0; first < values.size(); first += quant_block) {
    const std::size_t end = std::min(values.size(), first + quant_block);
    const std::vector<double> block(values.begin() + static_cast<std::ptrdiff_t>(first),
                                    values.begin() + static_cast<std::ptrdiff_t>(end));
    if (x.dtype == DType::f64) {
      define_block<double>(format, x.dtype, block, result);
    } else {
      define_block<float>(format, x.dtype, block, result);
    }
  }
  return result;
}

}  // namespace tidemark::testing
