// The codes of a whole block out of its scaled numbers, and back, on vectors; compiled once per Highway
// target. Every code depends on its own number alone, so the bits do not depend on the width of vectors.
// Rounding is to nearest even.
#if defined(TIDEMARK_OPS_QUANTIZE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_OPS_QUANTIZE_CODES_INL_H_
#undef TIDEMARK_OPS_QUANTIZE_CODES_INL_H_
#else
#define TIDEMARK_OPS_QUANTIZE_CODES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/quantization/quant_format.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace quant {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Shorts = hn::Repartition<std::int16_t, Floats>;
template <class Byte>
using Bytes = hn::Repartition<Byte, Floats>;

constexpr std::size_t block = static_cast<std::size_t>(quant_block);
static_assert(block % (8 * hn::MaxLanes(Floats())) == 0);

// The lowest bytes of four vectors of words as one vector, in order.
HWY_INLINE hn::Vec<Bytes<std::uint8_t>> low_bytes(hn::Vec<Words> a, hn::Vec<Words> b, hn::Vec<Words> c,
                                                  hn::Vec<Words> e) {
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
  const hn::Repartition<std::uint16_t, Floats> d16;
  const Bytes<std::uint8_t> d8;
  const auto low = hn::ConcatEven(d16, hn::BitCast(d16, b), hn::BitCast(d16, a));
  const auto high = hn::ConcatEven(d16, hn::BitCast(d16, e), hn::BitCast(d16, c));
  return hn::ConcatEven(d8, hn::BitCast(d8, high), hn::BitCast(d8, low));
#else
  const Shorts d16;
  const hn::Half<Shorts> h16;
  const Bytes<std::uint8_t> d8;
  const hn::Half<Bytes<std::uint8_t>> h8;
  const auto shorts = [&](hn::Vec<Words> word) HWY_ATTR {
    return hn::DemoteTo(h16, hn::BitCast(Ints(), hn::And(word, hn::Set(Words(), 0xffu))));
  };
  const auto low = hn::Combine(d16, shorts(b), shorts(a)), high = hn::Combine(d16, shorts(e), shorts(c));
  return hn::Combine(d8, hn::DemoteTo(h8, high), hn::DemoteTo(h8, low));
#endif
}
// Four vectors of numbers out of the bytes of one, in order.
template <class Byte, class F>
HWY_INLINE void for_each_unpacked(hn::Vec<Bytes<Byte>> bytes, const F& f) {
  const hn::Half<Bytes<Byte>> h8;
  const hn::Half<Shorts> h16;
  const Shorts d16;
  const Ints d32;
  const auto low = hn::PromoteTo(d16, hn::LowerHalf(h8, bytes));
  const auto high = hn::PromoteTo(d16, hn::UpperHalf(h8, bytes));
  f(std::size_t{0}, hn::PromoteTo(d32, hn::LowerHalf(h16, low)));
  f(std::size_t{1}, hn::PromoteTo(d32, hn::UpperHalf(h16, low)));
  f(std::size_t{2}, hn::PromoteTo(d32, hn::LowerHalf(h16, high)));
  f(std::size_t{3}, hn::PromoteTo(d32, hn::UpperHalf(h16, high)));
}

// The nearest whole number, of two equally near the even one, in the lowest bits: beside 3 · 2²² the distance
// of floats is 1. Below 2²² only; cheaper than a conversion, which some machines begin once per cycle.
HWY_INLINE hn::Vec<Words> whole_number(hn::Vec<Floats> t) {
  return hn::BitCast(Words(), hn::Add(t, hn::Set(Floats(), 0x1.8p23f)));
}

// A float of `digits` stored significand bits and this exponent bias, in a byte. It must not be too large.
template <int digits, int bias>
HWY_INLINE hn::Vec<Words> small_float(hn::Vec<Floats> t) {
  constexpr int cut = 23 - digits;  // bits that go
  const Floats df;
  const Words du;
  const Ints di;
  const auto bits = hn::BitCast(du, t);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
  const auto odd = hn::And(hn::ShiftRight<cut>(magnitude), hn::Set(du, 1u));
  constexpr std::uint32_t nearly_half = (1u << (cut - 1)) - 1, rebias = static_cast<std::uint32_t>(127 - bias)
                                                                        << 23;
  const auto normal = hn::ShiftRight<cut>(
      hn::Sub(hn::Add(hn::Add(magnitude, hn::Set(du, nearly_half)), odd), hn::Set(du, rebias)));
  // Beside this number the distance of floats is that of the smallest codes: the sum is rounded to them.
  constexpr std::uint32_t anchor = static_cast<std::uint32_t>(127 + 1 - bias - digits + 23) << 23;
  const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, hn::Set(du, anchor)));
  const auto subnormal = hn::Sub(hn::BitCast(du, sum), hn::Set(du, anchor));
  constexpr std::int32_t smallest_normal = (127 + 1 - bias) << 23;
  const auto is_normal = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, smallest_normal - 1));
  const auto code = hn::IfThenElse(hn::RebindMask(du, is_normal), normal, subnormal);
  const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(du, 0x80u));
  return hn::Or(code, sign);
}
template <int digits, int bias>
HWY_INLINE hn::Vec<Floats> from_small_float(hn::Vec<Ints> code) {
  const Floats df;
  const Words du;
  const auto bits = hn::BitCast(du, code);
  // Exponent and significand read as those of an f32 are 2^(127 - bias) too small, subnormals included.
  const auto magnitude = hn::ShiftLeft<23 - digits>(hn::And(bits, hn::Set(du, 0x7fu)));
  constexpr auto factor = static_cast<std::uint32_t>(127 + 127 - bias) << 23;
  const auto value = hn::Mul(hn::BitCast(df, magnitude), hn::BitCast(df, hn::Set(du, factor)));
  const auto sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(du, 0x80u)));
  return hn::BitCast(df, hn::Or(hn::BitCast(du, value), sign));
}

// Bytes, each what `code` makes of the vector of numbers at(i).
template <class At, class Code>
HWY_INLINE void write_bytes(const At& at, const Code& code, std::byte* codes) {
  const std::size_t lanes = hn::Lanes(Floats());
  for (std::size_t i = 0; i < block; i += 4 * lanes) {
    const auto bytes =
        low_bytes(code(at(i)), code(at(i + lanes)), code(at(i + 2 * lanes)), code(at(i + 3 * lanes)));
    hn::StoreU(bytes, Bytes<std::uint8_t>(), reinterpret_cast<std::uint8_t*>(codes) + i);
  }
}
// Two numbers in a byte, the first in its lower half.
template <class At>
HWY_INLINE void write_nibbles(const At& at, std::byte* codes) {
  const Words du;
  const std::size_t lanes = hn::Lanes(Floats());
  const auto pairs = [&](std::size_t i) HWY_ATTR {
    const auto a = whole_number(at(i)), b = whole_number(at(i + lanes));
    const auto even = hn::And(hn::ConcatEven(du, b, a), hn::Set(du, 15u));
    return hn::Or(even, hn::ShiftLeft<4>(hn::ConcatOdd(du, b, a)));
  };
  for (std::size_t i = 0; i < block; i += 8 * lanes) {
    const auto bytes = low_bytes(pairs(i), pairs(i + 2 * lanes), pairs(i + 4 * lanes), pairs(i + 6 * lanes));
    hn::StoreU(bytes, Bytes<std::uint8_t>(), reinterpret_cast<std::uint8_t*>(codes) + i / 2);
  }
}

// Arm converts f16 by instructions. Between codes and numbers there is no NaN whose payload could matter.
#undef TM_QUANT_HALVES
#define TM_QUANT_HALVES (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#if TM_QUANT_HALVES
using Halves = hn::Rebind<hwy::float16_t, Floats>;
template <class At>
HWY_INLINE void write_halves(const At& at, std::byte* codes) {
  for (std::size_t i = 0; i < block; i += hn::Lanes(Floats()))
    hn::StoreU(hn::DemoteTo(Halves(), at(i)), Halves(), reinterpret_cast<hwy::float16_t*>(codes) + i);
}
template <class Scaled>
HWY_INLINE void read_halves(const std::byte* codes, const Scaled& scaled, float* x) {
  const Floats d;
  for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
    const auto halves = hn::LoadU(Halves(), reinterpret_cast<const hwy::float16_t*>(codes) + i);
    hn::StoreU(scaled(hn::PromoteTo(d, halves)), d, x + i);
  }
}
#endif

// The codes of a block of numbers, a vector of which is at(i).
template <class At>
HWY_INLINE void encode(QuantFormat format, const At& at, std::byte* codes) {
  const Floats d;
  switch (format) {
    case QuantFormat::int8:
      return write_bytes(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return whole_number(t); }, codes);
    case QuantFormat::int4:
      return write_nibbles(at, codes);
    case QuantFormat::e4m3:
      return write_bytes(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return small_float<3, 7>(t); }, codes);
    case QuantFormat::e5m2:
      return write_bytes(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return small_float<2, 15>(t); }, codes);
    default:
      break;
  }
#if TM_QUANT_HALVES
  if (format == QuantFormat::f16) return write_halves(at, codes);
#endif
  HWY_ALIGN float numbers[block];
  for (std::size_t i = 0; i < block; i += hn::Lanes(d)) hn::Store(at(i), d, numbers + i);
  tile_store(format == QuantFormat::bf16 ? DType::bf16 : DType::f16)(
      reinterpret_cast<const std::byte*>(numbers), quant_block, codes);
}

template <class Byte, class Value, class Scaled>
HWY_INLINE void read_bytes(const std::byte* codes, const Value& value, const Scaled& scaled, float* x) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < block; i += 4 * lanes) {
    const auto bytes = hn::LoadU(Bytes<Byte>(), reinterpret_cast<const Byte*>(codes) + i);
    for_each_unpacked<Byte>(bytes, [&](std::size_t k, hn::Vec<Ints> code)
                                       HWY_ATTR { hn::StoreU(scaled(value(code)), d, x + i + k * lanes); });
  }
}
template <class Scaled>
HWY_INLINE void read_nibbles(const std::byte* codes, const Scaled& scaled, float* x) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < block / 2; i += 4 * lanes) {
    const auto bytes = hn::LoadU(Bytes<std::uint8_t>(), reinterpret_cast<const std::uint8_t*>(codes) + i);
    for_each_unpacked<std::uint8_t>(bytes, [&](std::size_t k, hn::Vec<Ints> pair) HWY_ATTR {
      const auto even = hn::ShiftRight<28>(hn::ShiftLeft<28>(pair)),
                 odd = hn::ShiftRight<28>(hn::ShiftLeft<24>(pair));
      hn::StoreInterleaved2(scaled(hn::ConvertTo(d, even)), scaled(hn::ConvertTo(d, odd)), d,
                            x + 2 * (i + k * lanes));
    });
  }
}

// What `scaled` makes of the numbers that a block of codes stands for.
template <class Scaled>
HWY_INLINE void decode(QuantFormat format, const std::byte* codes, const Scaled& scaled, float* x) {
  const Floats d;
  const auto whole = [&](hn::Vec<Ints> code) HWY_ATTR { return hn::ConvertTo(d, code); };
  switch (format) {
    case QuantFormat::int8:
      return read_bytes<std::int8_t>(codes, whole, scaled, x);
    case QuantFormat::int4:
      return read_nibbles(codes, scaled, x);
    case QuantFormat::e4m3:
      return read_bytes<std::uint8_t>(
          codes, [](hn::Vec<Ints> code) HWY_ATTR { return from_small_float<3, 7>(code); }, scaled, x);
    case QuantFormat::e5m2:
      return read_bytes<std::uint8_t>(
          codes, [](hn::Vec<Ints> code) HWY_ATTR { return from_small_float<2, 15>(code); }, scaled, x);
    default:
      break;
  }
#if TM_QUANT_HALVES
  if (format == QuantFormat::f16) return read_halves(codes, scaled, x);
#endif
  HWY_ALIGN float numbers[block];
  tile_load(format == QuantFormat::bf16 ? DType::bf16 : DType::f16, true)(
      codes, 1, quant_block, reinterpret_cast<std::byte*>(numbers));
  for (std::size_t i = 0; i < block; i += hn::Lanes(d))
    hn::StoreU(scaled(hn::Load(d, numbers + i)), d, x + i);
}

}  // namespace quant
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
