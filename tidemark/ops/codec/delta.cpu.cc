#include "tidemark/ops/codec/delta.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/codec/delta.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/quantization/quantize_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A few blocks are taken through all of it while they are in the innermost cache.
constexpr std::int64_t few = quant::blocks_at_once * quant_block;

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;
using Numbers = hn::Vec<Doubles>;
static_assert(few % static_cast<std::int64_t>(hn::MaxLanes(Doubles())) == 0);

HWY_INLINE Numbers load(const double* x) { return hn::LoadU(Doubles(), x); }
HWY_INLINE Numbers load(const float* x) { return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), x)); }
HWY_INLINE void store(Numbers v, double* x) { hn::StoreU(v, Doubles(), x); }
HWY_INLINE void store(Numbers v, float* x) { hn::StoreU(hn::DemoteTo(Singles(), v), Singles(), x); }
HWY_INLINE auto is_number(Numbers v) {
  return hn::Le(hn::Abs(v), hn::Set(Doubles(), std::numeric_limits<double>::max()));
}

// Calls f(i) for the places of vectors in `few` elements.
template <class F>
HWY_INLINE void for_each_vector(const F& f) {
  for (std::int64_t i = 0; i < few; i += static_cast<std::int64_t>(hn::Lanes(Doubles()))) f(i);
}

// Elements where they lie, if they are few in number, else with zeros behind them in `copied`: the last ones
// of a value. Those of 16 bits are widened there.
template <class T>
const compute_t<T>* padded(const T* x, std::int64_t count, compute_t<T>* copied) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (count == few) return x;
    std::copy_n(x, count, copied);
  } else {
    tile_load(dtype_of<T>, true)(reinterpret_cast<const std::byte*>(x), 1, count,
                                 reinterpret_cast<std::byte*>(copied));
  }
  std::fill(copied + count, copied + few, compute_t<T>(0));
  return copied;
}
// Where to write them, and from there to where they belong.
template <class T>
compute_t<T>* room_for(T* x, std::int64_t count, compute_t<T>* made) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (count == few) return x;
  }
  return made;
}
template <class T>
void put_back(const compute_t<T>* made, std::int64_t count, T* x) {
  if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (made != x) std::copy_n(made, count, x);
  } else {
    tile_store(dtype_of<T>)(reinterpret_cast<const std::byte*>(made), count, reinterpret_cast<std::byte*>(x));
  }
}

template <class T>
constexpr double largest_number() {
  if constexpr (std::is_same_v<T, Float16>) return 65504;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x1.fep127;
  if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::max();
  return std::numeric_limits<double>::max();
}

template <class T>
constexpr std::int64_t block_stride(QuantFormat format) {
  return scale_bytes(dtype_of<T>) + code_bytes(format, quant_block);
}

// Bytes to the differences they stand for, which are f32, of f64 f64; zeros behind them.
template <class W>
void read_blocks(QuantFormat format, const std::byte* from, std::int64_t count, W* to) {
  const std::int64_t stride = block_stride<W>(format);
  for (std::int64_t i = 0; i < count; i += quant_block, from += stride)
    quant::dequantize_block<W>(format, from, std::min(quant_block, count - i), to + i);
  std::fill(to + count, to + few, W(0));
}

template <class T>
void encode_few(QuantFormat format, std::int64_t number, const T* x, const double* chain, std::int64_t count,
                std::byte* bytes, double* next) {
  using W = compute_t<T>;
  HWY_ALIGN W copied[few];
  HWY_ALIGN W left[few];
  HWY_ALIGN double copied_chain[few];
  HWY_ALIGN double from[few];
  const W* const values = padded(x, count, copied);
  const double* const before = padded(chain, count, copied_chain);
  for_each_vector([&](std::int64_t i) HWY_ATTR {
    const Numbers value = hn::Mul(load(values + i), hn::Set(Doubles(), 0.25)), c = load(before + i);
    const Numbers first = hn::IfThenElseZero(is_number(value), value);
    const Numbers start = hn::IfThenElse(hn::Eq(c, c), c, first);
    store(start, from + i);
    store(hn::Sub(value, start), left + i);
  });
  quant::quantize_blocks<W>(format, {}, number, left, count, bytes);
  read_blocks<W>(format, bytes, count, left);
  // Where the next lies over the chain, each vector of it is read before it is written.
  double* const made = room_for(next, count, from);
  for_each_vector([&](std::int64_t i) HWY_ATTR {
    const Numbers difference = load(left + i);
    const Numbers sum = hn::Add(load(from + i), difference);
    store(hn::IfThenElse(is_number(difference), sum, load(before + i)), made + i);
  });
  put_back(made, count, next);
}

template <class T>
void decode_few(QuantFormat format, const std::byte* bytes, const double* chain, std::int64_t count, T* x,
                double* before) {
  using W = compute_t<T>;
  HWY_ALIGN W left[few];
  HWY_ALIGN W values[few];
  HWY_ALIGN double copied_chain[few];
  const double* const quarters = padded(chain, count, copied_chain);
  read_blocks<W>(format, bytes, count, left);
  W* const made = room_for(x, count, values);
  double* const rest = room_for(before, count, copied_chain);
  // An error must not make an infinity of a number that is nearly too large.
  const Numbers most = hn::Set(Doubles(), largest_number<T>()), least = hn::Neg(most);
  for_each_vector([&](std::int64_t i) HWY_ATTR {
    const Numbers difference = load(left + i), quarter = load(quarters + i);
    const auto finite = is_number(difference);
    const Numbers value = hn::Max(hn::Min(hn::Mul(quarter, hn::Set(Doubles(), 4.0)), most), least);
    store(hn::IfThenElse(finite, value, difference), made + i);
    store(hn::IfThenElse(finite, hn::Sub(quarter, difference), quarter), rest + i);
  });
  put_back(made, count, x);
  put_back(rest, count, before);
}

void encode_all(const KernelArgs& args) {
  const QuantFormat format = args.attrs<QuantForm>().format;
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* x = args.in[0].as<T>();
    const double* chain = args.in[1].as<double>();
    double* next = args.out[1].as<double>();
    quant::for_each_few(*args.pool, args.in[0].count(), [&](std::int64_t b, std::int64_t count) {
      const std::int64_t first = b * quant_block;
      encode_few<T>(format, b, x + first, chain + first, count,
                    args.out[0].data + b * block_stride<T>(format), next + first);
    });
  });
}

void decode_all(const KernelArgs& args) {
  const QuantFormat format = args.attrs<QuantForm>().format;
  dispatch_float(args.out[0].dtype, [&]<class T>() {
    T* x = args.out[0].as<T>();
    const double* chain = args.in[1].as<double>();
    double* before = args.out[1].as<double>();
    quant::for_each_few(*args.pool, args.out[0].count(), [&](std::int64_t b, std::int64_t count) {
      const std::int64_t first = b * quant_block;
      decode_few<T>(format, args.in[0].data + b * block_stride<T>(format), chain + first, count, x + first,
                    before + first);
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

TM_DISPATCHED(run_to_delta, encode_all)
TM_DISPATCHED(run_from_delta, decode_all)

QuantForm form_of_to(const Call& call) { return {*quant_format_named(call.attrs_as<ToDeltaAttrs>().format)}; }
QuantForm form_of_from(const Call& call) {
  return {*quant_format_named(call.attrs_as<FromDeltaAttrs>().format)};
}

// The chain is read and written where it lies.
bool in_place(const Call&, int result, int operand) { return result == 1 && operand == 1; }

// Per element, as measured in the cache, in units of what quantize takes (quantize.cpu.cc).
Cost cost_to(const Call& call) {
  const double each = call.in[0].dtype == DType::f64 ? 100 : 38;
  return {.flops = each * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
Cost cost_from(const Call& call) {
  return {.flops = 22 * static_cast<double>(call.out[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}

}  // namespace

const CpuKernel cpu::to_delta =
    formed_kernel<form_of_to>(run_to_delta, {.cost = cost_to, .in_place = in_place});
const CpuKernel cpu::from_delta =
    formed_kernel<form_of_from>(run_from_delta, {.cost = cost_from, .in_place = in_place});

}  // namespace tidemark
#endif  // HWY_ONCE
