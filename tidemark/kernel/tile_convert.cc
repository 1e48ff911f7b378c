// Compiled once per SIMD target. What remains after the last whole vector is converted one by one: rounding to 16 bits
// is defined bit for bit, so both ways give the same.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/tile_convert.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/kernel/tile_convert.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToUnsigned<Floats>;
using Ints = hn::RebindToSigned<Floats>;
using Halves = hn::Rebind<std::uint16_t, Floats>;

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
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
// The instruction rounds to even too; only NaN must lose its payload.
HWY_INLINE hn::Vec<Words> narrow(Float16, hn::Vec<Floats> x) {
  const Words du;
  const auto rounded = hn::Vec<Words>(vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x.raw))));
  const auto sign = hn::ShiftRight<16>(hn::And(hn::BitCast(du, x), hn::Set(du, 0x80000000u)));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), hn::Or(sign, hn::Set(du, 0x7e00u)), rounded);
}
#else
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

template <class Stored>
void load_dense(const std::byte* source, std::int64_t n, std::byte* tile) {
  const auto* from = reinterpret_cast<const std::uint16_t*>(source);
  auto* to = reinterpret_cast<float*>(tile);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(widen(Stored(), hn::PromoteTo(Words(), hn::LoadU(Halves(), from + i))), Floats(), to + i);
  }
  for (; i < n; ++i) to[i] = static_cast<float>(reinterpret_cast<const Stored*>(source)[i]);
}
template <class Stored>
void store_dense(const std::byte* tile, std::int64_t n, std::byte* target) {
  const auto* from = reinterpret_cast<const float*>(tile);
  auto* to = reinterpret_cast<std::uint16_t*>(target);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Floats()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto words = narrow(Stored(), hn::LoadU(Floats(), from + i));
    hn::StoreU(hn::DemoteTo(Halves(), hn::BitCast(Ints(), words)), Halves(), to + i);
  }
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
