#include <algorithm>
#include <bit>

#include "tidemark/ops/codec/bits_of_bytes.h"
#include "tidemark/ops/codec/pack_integers.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr std::int64_t bytes_per_task = 4096;                   // of codes of one bit
constexpr std::int64_t elements_per_task = 8 * bytes_per_task;  // of the others

// The bits of an element, and those of a one.
template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
Bits<T> bits_of_one() {
  if constexpr (std::is_same_v<T, bool>) return 1;
  return std::bit_cast<Bits<T>>(static_cast<T>(compute_t<T>(1)));
}

// Not 0: a zero of either sign has no bit but that of the sign.
template <class T>
std::uint8_t is_set(Bits<T> bits) {
  constexpr bool is_signed = is_float(dtype_of<T>);
  return static_cast<std::uint8_t>((is_signed ? static_cast<Bits<T>>(bits << 1) : bits) != 0);
}

constexpr std::int64_t at_once = 64;

template <class T>
void pack_some(const Bits<T>* x, std::int64_t count, std::byte* codes) {
  std::uint8_t set[at_once] = {};
  if (count == at_once) {  // of a length that compilers know
    for (std::int64_t i = 0; i < at_once; ++i) set[i] = is_set<T>(x[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) set[i] = is_set<T>(x[i]);
  }
  for (std::int64_t i = 0; i < count; i += 8) codes[i / 8] = bits_of_bytes(set + i);
}
template <class T>
void pack_bits(const Bits<T>* x, std::int64_t count, std::byte* codes) {
  for (std::int64_t i = 0; i < count; i += at_once)
    pack_some<T>(x + i, std::min(at_once, count - i), codes + i / 8);
}

template <class T>
void unpack_some(const std::byte* codes, std::int64_t count, Bits<T>* x) {
  std::uint8_t set[at_once];
  for (std::int64_t i = 0; i < count; i += 8) bytes_of_bits(codes[i / 8], set + i);
  const Bits<T> one = bits_of_one<T>();
  if (count == at_once) {
    for (std::int64_t i = 0; i < at_once; ++i) x[i] = set[i] ? one : Bits<T>(0);
  } else {
    for (std::int64_t i = 0; i < count; ++i) x[i] = set[i] ? one : Bits<T>(0);
  }
}
template <class T>
void unpack_bits(const std::byte* codes, std::int64_t count, Bits<T>* x) {
  for (std::int64_t i = 0; i < count; i += at_once)
    unpack_some<T>(codes + i / 8, std::min(at_once, count - i), x + i);
}

// Calls f<code>() with the unsigned integer of so many bits.
template <class F>
void with_code(std::int64_t bits, const F& f) {
  if (bits == 8) return f.template operator()<std::uint8_t>();
  if (bits == 16) return f.template operator()<std::uint16_t>();
  return f.template operator()<std::uint32_t>();
}
template <class F>
void with_wide_integer(DType dtype, const F& f) {
  if (dtype == DType::i32) return f.template operator()<std::int32_t>();
  return f.template operator()<std::int64_t>();
}

static_assert(std::endian::native == std::endian::little, "codes have their lowest byte first");

void run_pack(const KernelArgs& args) {
  const std::int64_t bits = args.attrs<PackIntegersAttrs>().bits, count = args.in[0].count();
  const TensorRef &in = args.in[0], &out = args.out[0];
  if (bits == 1) {
    dispatch(in.dtype, [&]<class T>() {
      parallel_for(*args.pool, out.count(), bytes_per_task, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t elements = std::min(8 * end, count) - 8 * begin;
        pack_bits<T>(in.as<Bits<T>>() + 8 * begin, elements, out.data + begin);
      });
    });
    return;
  }
  with_wide_integer(in.dtype, [&]<class T>() {
    with_code(bits, [&]<class Code>() {
      const T* x = in.as<T>();
      Code* codes = out.as<Code>();
      parallel_for(*args.pool, count, elements_per_task, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) codes[i] = static_cast<Code>(x[i]);
      });
    });
  });
}

void run_unpack(const KernelArgs& args) {
  const std::int64_t bits = args.attrs<UnpackIntegersAttrs>().bits, count = args.out[0].count();
  const TensorRef &in = args.in[0], &out = args.out[0];
  if (bits == 1) {
    dispatch(out.dtype, [&]<class T>() {
      parallel_for(*args.pool, in.count(), bytes_per_task, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t elements = std::min(8 * end, count) - 8 * begin;
        unpack_bits<T>(in.data + begin, elements, out.as<Bits<T>>() + 8 * begin);
      });
    });
    return;
  }
  with_wide_integer(out.dtype, [&]<class T>() {
    with_code(bits, [&]<class Code>() {
      const Code* codes = in.as<Code>();
      T* x = out.as<T>();
      parallel_for(*args.pool, count, elements_per_task, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) x[i] = static_cast<T>(codes[i]);
      });
    });
  });
}

// Per element, as measured (bench/micro_codec). There is no instruction from eight bytes to one.
Cost cost_pack(const Call& call) {
  const bool bits = call.attrs_as<PackIntegersAttrs>().bits == 1;
  const double each = bits ? 3 : call.in[0].dtype == DType::i64 ? 12 : 2;
  return {.flops = each * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
Cost cost_unpack(const Call& call) {
  const double each = call.attrs_as<UnpackIntegersAttrs>().bits == 1 ? 3 : 1;
  return {.flops = each * static_cast<double>(call.out[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}

}  // namespace

const CpuKernel cpu::pack_integers = cpu_kernel<PackIntegersAttrs>(run_pack, {.cost = cost_pack});
const CpuKernel cpu::unpack_integers = cpu_kernel<UnpackIntegersAttrs>(run_unpack, {.cost = cost_unpack});

}  // namespace tidemark
