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

// Four vectors of numbers that fit a byte as one vector of bytes, in order; and back.
template <class Byte>
HWY_INLINE hn::Vec<Bytes<Byte>> packed(hn::Vec<Ints> a, hn::Vec<Ints> b, hn::Vec<Ints> c, hn::Vec<Ints> e) {
  const Shorts d16;
  const hn::Half<Shorts> h16;
  const Bytes<Byte> d8;
  const hn::Half<Bytes<Byte>> h8;
  const auto low = hn::Combine(d16, hn::DemoteTo(h16, b), hn::DemoteTo(h16, a));
  const auto high = hn::Combine(d16, hn::DemoteTo(h16, e), hn::DemoteTo(h16, c));
  return hn::Combine(d8, hn::DemoteTo(h8, high), hn::DemoteTo(h8, low));
}
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

// A float of `digits` stored significand bits and this exponent bias, in a byte. It must not be too large.
template <int digits, int bias>
HWY_INLINE hn::Vec<Ints> small_float(hn::Vec<Floats> t) {
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
  return hn::BitCast(di, hn::Or(code, sign));
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
template <class Byte, class At, class Code>
HWY_INLINE void write_bytes(const At& at, const Code& code, std::byte* codes) {
  const Bytes<Byte> d8;
  const std::size_t lanes = hn::Lanes(Floats());
  for (std::size_t i = 0; i < block; i += 4 * lanes) {
    const auto bytes =
        packed<Byte>(code(at(i)), code(at(i + lanes)), code(at(i + 2 * lanes)), code(at(i + 3 * lanes)));
    hn::StoreU(bytes, d8, reinterpret_cast<Byte*>(codes) + i);
  }
}
// Two numbers in a byte, the first in its lower half.
template <class At>
HWY_INLINE void write_nibbles(const At& at, std::byte* codes) {
  const Bytes<std::uint8_t> d8;
  const Ints di;
  const std::size_t lanes = hn::Lanes(Floats());
  const auto pairs = [&](std::size_t i) HWY_ATTR {
    const auto a = hn::NearestInt(at(i)), b = hn::NearestInt(at(i + lanes));
    const auto even = hn::And(hn::ConcatEven(di, b, a), hn::Set(di, 15));
    const auto odd = hn::And(hn::ConcatOdd(di, b, a), hn::Set(di, 15));
    return hn::Or(even, hn::ShiftLeft<4>(odd));
  };
  for (std::size_t i = 0; i < block; i += 8 * lanes) {
    const auto bytes =
        packed<std::uint8_t>(pairs(i), pairs(i + 2 * lanes), pairs(i + 4 * lanes), pairs(i + 6 * lanes));
    hn::StoreU(bytes, d8, reinterpret_cast<std::uint8_t*>(codes) + i / 2);
  }
}

// The codes of a block of numbers, a vector of which is at(i).
template <class At>
HWY_INLINE void encode(QuantFormat format, const At& at, std::byte* codes) {
  const Floats d;
  switch (format) {
    case QuantFormat::int8:
      return write_bytes<std::int8_t>(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return hn::NearestInt(t); }, codes);
    case QuantFormat::int4:
      return write_nibbles(at, codes);
    case QuantFormat::e4m3:
      return write_bytes<std::uint8_t>(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return small_float<3, 7>(t); }, codes);
    case QuantFormat::e5m2:
      return write_bytes<std::uint8_t>(
          at, [](hn::Vec<Floats> t) HWY_ATTR { return small_float<2, 15>(t); }, codes);
    default:
      break;
  }
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
