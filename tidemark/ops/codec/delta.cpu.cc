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

// A few blocks are taken through all of it while they are in the innermost cache.
constexpr std::int64_t few = quant::blocks_at_once * quant_block;

// Differences are f32, those of f64 are f64.
template <class T>
using Left = compute_t<T>;
template <class T>
constexpr std::int64_t block_stride(QuantFormat format) {
  return scale_bytes(dtype_of<T>) + code_bytes(format, quant_block);
}

template <class T>
constexpr double largest_number() {
  if constexpr (std::is_same_v<T, Float16>) return 65504;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x1.fep127;
  if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::max();
  return std::numeric_limits<double>::max();
}

// Bytes to the numbers they stand for, block by block.
template <class W>
void read_blocks(QuantFormat format, const std::byte* from, std::int64_t count, W* to) {
  const std::int64_t stride = block_stride<W>(format);
  for (std::int64_t i = 0; i < count; i += quant_block, from += stride)
    quant::dequantize_block<W>(format, from, std::min(quant_block, count - i), to + i);
}

template <class T>
void encode_few(QuantFormat format, std::int64_t number, const T* x, const double* chain, std::int64_t count,
                std::byte* bytes, double* next) {
  using W = Left<T>;
  HWY_ALIGN W copied[few];
  HWY_ALIGN W left[few];
  HWY_ALIGN double from[few];
  const W* values = copied;
  if constexpr (std::is_same_v<T, W>) {
    values = x;
  } else {
    tile_load(dtype_of<T>, true)(reinterpret_cast<const std::byte*>(x), 1, count,
                                 reinterpret_cast<std::byte*>(copied));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = 0.25 * static_cast<double>(values[i]);
    const double first = std::abs(value) <= std::numeric_limits<double>::max() ? value : 0.0;
    from[i] = chain[i] == chain[i] ? chain[i] : first;
    left[i] = static_cast<W>(value - from[i]);
  }
  quant::quantize_blocks<W>(format, {}, number, left, count, bytes);
  read_blocks<W>(format, bytes, count, left);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_number = std::abs(left[i]) <= std::numeric_limits<W>::max();
    next[i] = is_number ? from[i] + static_cast<double>(left[i]) : chain[i];
  }
}

template <class T>
void decode_few(QuantFormat format, const std::byte* bytes, const double* chain, std::int64_t count, T* x,
                double* before) {
  using W = Left<T>;
  HWY_ALIGN W left[few];
  HWY_ALIGN W made[few];
  W* values = made;
  if constexpr (std::is_same_v<T, W>) values = x;
  read_blocks<W>(format, bytes, count, left);
  for (std::int64_t i = 0; i < count; ++i) {
    constexpr double largest = largest_number<T>();
    const bool is_number = std::abs(left[i]) <= std::numeric_limits<W>::max();
    const double difference = static_cast<double>(left[i]), quarter = chain[i];
    // An error must not make an infinity of a number that is nearly too large.
    const double below = 4 * quarter > largest ? largest : 4 * quarter;
    const double value = below < -largest ? -largest : below;
    before[i] = is_number ? quarter - difference : quarter;
    values[i] = static_cast<W>(is_number ? value : difference);
  }
  if constexpr (!std::is_same_v<T, W>)
    tile_store(dtype_of<T>)(reinterpret_cast<const std::byte*>(made), count, reinterpret_cast<std::byte*>(x));
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

// Per element, as measured (bench/micro_codec).
Cost cost_to(const Call& call) {
  const double each = call.in[0].dtype == DType::f64 ? 80 : 32;
  return {.flops = each * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
Cost cost_from(const Call& call) {
  return {.flops = 16 * static_cast<double>(call.out[0].count()),
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
