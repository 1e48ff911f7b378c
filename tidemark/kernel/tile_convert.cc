// Compiled once per SIMD target. What remains after the last whole vector is converted one by one: rounding
// to 16 bits is defined bit for bit, so both ways give the same.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/tile_convert.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/kernel/bf16_neon.h"
#include "tidemark/kernel/tile_convert.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Arm converts f16 by instructions, and eight at a time.
#undef TM_NEON_HALVES
#define TM_NEON_HALVES (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;
using Ints = hn::RebindToSigned<Floats>;
using Halves = hn::Rebind<std::uint16_t, Floats>;

#if !TM_NEON_HALVES
HWY_INLINE hn::Vec<Floats> widen(BFloat16, hn::Vec<Words> bits) {
  return hn::BitCast(Floats(), hn::ShiftLeft<16>(bits));
}
// The f16 exponent and significand read as an f32 are 2^112 too small, subnormals included.
HWY_INLINE hn::Vec<Floats> widen(Float16, hn::Vec<Words> bits) {
  const Floats df;
  const Words du;
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fffu)));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto value = hn::BitCast(du, hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p112f)));
  const auto special =
      hn::Gt(hn::BitCast(Ints(), magnitude), hn::Set(Ints(), 0x0f7fffff));  // infinity or NaN
  const auto exponent = hn::BitCast(du, hn::IfThenElseZero(special, hn::Set(Ints(), 0x7f800000)));
  return hn::BitCast(df, hn::Or(hn::Or(value, exponent), sign));
}

#endif

// As the constructors of BFloat16 and Float16, which say why.
HWY_INLINE hn::Vec<Words> narrow(BFloat16, hn::Vec<Floats> x) {
  const Words du;
  const auto bits = hn::BitCast(du, x);
  const auto upper = hn::ShiftRight<16>(bits);
  const auto bias = hn::Add(hn::Set(du, 0x7fffu), hn::And(upper, hn::Set(du, 1u)));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, bias));
  const auto quiet = hn::Or(upper, hn::Set(du, 0x40u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, rounded);
}
#if !TM_NEON_HALVES
HWY_INLINE hn::Vec<Words> narrow(Float16, hn::Vec<Floats> x) {
  const Floats df;
  const Words du;
  const Ints di;
  const auto bits = hn::BitCast(du, x);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffffu));
  const auto sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(du, 0x80000000u)));
  const auto rebias = hn::Sub(magnitude, hn::Set(du, 0x38000000u));
  const auto bias = hn::Add(hn::Set(du, 0xfffu), hn::And(hn::ShiftRight<13>(rebias), hn::Set(du, 1u)));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebias, bias));
  const auto shifted = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f));
  const auto subnormal = hn::Sub(hn::BitCast(du, shifted), hn::Set(du, 0x3f000000u));
  const auto size = hn::BitCast(di, magnitude);
  const auto above = [&](std::int32_t bound)
                         HWY_ATTR { return hn::RebindMask(du, hn::Gt(size, hn::Set(di, bound))); };
  auto result = hn::IfThenElse(above(0x387fffff), normal, subnormal);
  result = hn::IfThenElse(above(0x477fefff), hn::Set(du, 0x7c00u), result);
  result = hn::IfThenElse(above(0x7f800000), hn::Set(du, 0x7e00u), result);
  return hn::Or(result, sign);
}
#endif

#if TM_NEON_HALVES
constexpr std::int64_t at_once = 8;
HWY_INLINE void widen_some(BFloat16, const std::uint16_t* from, float* to) {
  const uint16x8_t bits = vld1q_u16(from), zero = vdupq_n_u16(0);
  vst1q_f32(to, vreinterpretq_f32_u16(vzip1q_u16(zero, bits)));
  vst1q_f32(to + 4, vreinterpretq_f32_u16(vzip2q_u16(zero, bits)));
}
HWY_INLINE void widen_some(Float16, const std::uint16_t* from, float* to) {
  const float16x8_t values = vreinterpretq_f16_u16(vld1q_u16(from));
  vst1q_f32(to, vcvt_f32_f16(vget_low_f16(values)));
  vst1q_f32(to + 4, vcvt_high_f32_f16(values));
}
// A NaN among n f16, a multiple of eight? The instruction would make quiet ones of all.
HWY_INLINE bool has_nan(const std::uint16_t* from, std::int64_t n) {
  uint16x8_t largest = vdupq_n_u16(0);
  for (std::int64_t i = 0; i < n; i += 8) {
    largest = vmaxq_u16(largest, vshlq_n_u16(vld1q_u16(from + i), 1));  // without the sign
  }
  return vmaxvq_u16(largest) > 0x7c00 * 2;
}
HWY_INLINE void narrow_some(BFloat16, const float* from, std::uint16_t* to) {
  const Floats d;
  const auto low = narrow(BFloat16(), hn::LoadU(d, from)), high = narrow(BFloat16(), hn::LoadU(d, from + 4));
  vst1q_u16(to, vuzp1q_u16(vreinterpretq_u16_u32(low.raw), vreinterpretq_u16_u32(high.raw)));
}
// The instruction rounds to even too; only NaN must lose its payload.
HWY_INLINE void narrow_some(Float16, const float* from, std::uint16_t* to) {
  const uint16x8_t bits =
      vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(from)), vld1q_f32(from + 4)));
  const uint16x8_t nan = vcgtq_u16(vandq_u16(bits, vdupq_n_u16(0x7fff)), vdupq_n_u16(0x7c00));
  vst1q_u16(to, vbicq_u16(bits, vandq_u16(nan, vdupq_n_u16(0x01ff))));
}
#else
constexpr std::int64_t at_once = static_cast<std::int64_t>(hn::MaxLanes(Floats()));
template <class Stored>
HWY_INLINE void widen_some(Stored stored, const std::uint16_t* from, float* to) {
  hn::StoreU(widen(stored, hn::PromoteTo(Words(), hn::LoadU(Halves(), from))), Floats(), to);
}
template <class Stored>
HWY_INLINE void narrow_some(Stored stored, const float* from, std::uint16_t* to) {
  const auto words = narrow(stored, hn::LoadU(Floats(), from));
  hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(Ints(), words)), Halves(), to);
}
#endif

template <class Stored>
void load_one_by_one(const std::byte* source, std::int64_t n, std::byte* tile) {
  const auto* from = reinterpret_cast<const Stored*>(source);
  auto* to = reinterpret_cast<float*>(tile);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
template <class Stored>
void load_dense(const std::byte* source, std::int64_t n, std::byte* tile) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(source);
  auto* to = reinterpret_cast<float*>(tile);
  std::int64_t i = 0;
#if TM_NEON_HALVES
  if constexpr (std::is_same_v<Stored, Float16>) {
    if (has_nan(from, n / at_once * at_once)) return load_one_by_one<Stored>(source, n, tile);
  }
#endif
  for (; i + at_once <= n; i += at_once) widen_some(Stored(), from + i, to + i);
  load_one_by_one<Stored>(source + 2 * i, n - i, tile + 4 * i);
}
template <class Stored>
void store_dense(const std::byte* tile, std::int64_t n, std::byte* target) {
  const auto* from = reinterpret_cast<const float*>(tile);
  auto* to = reinterpret_cast<std::uint16_t*>(target);
  std::int64_t i = 0;
#if TM_NEON_HALVES && TM_BF16_NEON
  if constexpr (std::is_same_v<Stored, BFloat16>) {
    if (neon::has_bf16()) i = neon::round_to_bf16(from, n, to);
  }
#endif
  for (; i + at_once <= n; i += at_once) narrow_some(Stored(), from + i, to + i);
  for (; i < n; ++i) to[i] = Stored(from[i]).bits;
}

using LoadDense = void (*)(const std::byte*, std::int64_t, std::byte*);
LoadDense find_load(DType storage) {
  return storage == DType::bf16 ? load_dense<BFloat16> : load_dense<Float16>;
}
TileStore find_store(DType storage) {
  return storage == DType::bf16 ? store_dense<BFloat16> : store_dense<Float16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

HWY_EXPORT(find_load);
HWY_EXPORT(find_store);

template <class Stored, class Computed>
void load(const std::byte* source, std::int64_t stride, std::int64_t n, std::byte* tile) {
  const auto* from = reinterpret_cast<const Stored*>(source);
  auto* to = reinterpret_cast<Computed*>(tile);
  if (stride == 0) {
    std::fill_n(to, n, static_cast<Computed>(*from));
  } else if (stride == 1) {
    if constexpr (std::is_same_v<Stored, Computed>) {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Stored));
    } else {
      HWY_DYNAMIC_DISPATCH(find_load)(dtype_of<Stored>)(source, n, tile);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Computed>(from[i * stride]);
  }
}

template <int size>
void copy(const TileArgs& args) {
  if (args.out != args.in[0]) std::memcpy(args.out, args.in[0], static_cast<std::size_t>(args.n * size));
}
template <class T>
void repeat(const TileArgs& args) {
  std::fill_n(args.result<T>(), args.n, *static_cast<const T*>(args.attributes));
}

}  // namespace

Tile copy_tile(DType storage) {
  constexpr Tile by_size[] = {copy<1>, copy<2>, copy<4>, copy<8>};
  return by_size[std::countr_zero(static_cast<unsigned>(size_of(storage)))];
}
Tile repeat_tile(DType storage) {
  constexpr Tile by_size[] = {repeat<std::uint8_t>, repeat<std::uint16_t>, repeat<std::uint32_t>,
                              repeat<std::uint64_t>};
  return by_size[std::countr_zero(static_cast<unsigned>(size_of(storage)))];
}

TileLoad tile_load(DType storage, bool widen) {
  if (widen && storage == DType::bf16) return load<BFloat16, float>;
  if (widen && storage == DType::f16) return load<Float16, float>;
  switch (size_of(storage)) {
    case 1:
      return load<std::uint8_t, std::uint8_t>;
    case 2:
      return load<std::uint16_t, std::uint16_t>;
    case 4:
      return load<std::uint32_t, std::uint32_t>;
    default:
      return load<std::uint64_t, std::uint64_t>;
  }
}

TileStore tile_store(DType storage) {
  if (compute_dtype(storage) == storage) return nullptr;
  return HWY_DYNAMIC_DISPATCH(find_store)(storage);
}

}  // namespace tidemark
#endif
