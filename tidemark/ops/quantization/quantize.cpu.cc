#include "tidemark/ops/quantization/quantize.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/quantization/quantize.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/quantization/quantize_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

void quantize_all(const KernelArgs& args) {
  const auto& form = args.attrs<QuantForm>();
  Philox philox{0};
  quant::Rounding rounding;
  if (args.in.size() > 1) {
    philox.key = static_cast<std::uint64_t>(*args.in[1].as<std::int64_t>());
    rounding = {&philox, form.stream};
  }
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* x = args.in[0].as<T>();
    const std::int64_t stride = scale_bytes(dtype_of<T>) + code_bytes(form.format, quant_block);
    quant::for_each_few(*args.pool, args.in[0].count(), [&](std::int64_t b, std::int64_t count) {
      quant::quantize_blocks<T>(form.format, rounding, b, x + b * quant_block, count,
                                args.out[0].data + b * stride);
    });
  });
}

void dequantize_all(const KernelArgs& args) {
  const auto& form = args.attrs<QuantForm>();
  dispatch_float(args.out[0].dtype, [&]<class T>() {
    T* x = args.out[0].as<T>();
    const std::int64_t stride = scale_bytes(dtype_of<T>) + code_bytes(form.format, quant_block);
    quant::for_each_few(*args.pool, args.out[0].count(), [&](std::int64_t b, std::int64_t count) {
      for (std::int64_t done = 0; done < count; done += quant_block, ++b) {
        quant::dequantize_block<T>(form.format, args.in[0].data + b * stride,
                                   std::min(quant_block, count - done), x + b * quant_block);
      }
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

TM_DISPATCHED(run_quantize, quantize_all)
TM_DISPATCHED(run_dequantize, dequantize_all)

QuantForm quantize_form(const Call& call) {
  const auto attrs = call.attrs_as<QuantizeAttrs>();
  return {*quant_format_named(attrs.format), rounding_stream(attrs.stream)};
}
QuantForm dequantize_form(const Call& call) {
  return {*quant_format_named(call.attrs_as<DequantizeAttrs>().format)};
}

// Per element, as measured on the reference machine (bench/micro_quantize), in the order of QuantFormat.
struct Flops {
  double quantize, dequantize;
};
constexpr Flops flops_of_format[] = {{10, 7}, {10, 7}, {20, 12}, {20, 12}, {8, 7}, {9, 10}};
static_assert(std::size(flops_of_format) == quant_format_count);
// A 16-bit float is widened and rounded; an f64 has no vector code of its own.
constexpr Flops flops_of_dtype(DType dtype) {
  return dtype == DType::f32 ? Flops{0, 0} : dtype == DType::f64 ? Flops{48, 5} : Flops{3, 2};
}
constexpr double flops_of_chance = 60;  // half of them for a random word

Cost cost_quantize(const Call& call) {
  const double each = flops_of_format[static_cast<int>(quantize_form(call).format)].quantize +
                      flops_of_dtype(call.in[0].dtype).quantize + (call.in.size() > 1 ? flops_of_chance : 0);
  return {.flops = each * static_cast<double>(call.in[0].count()), .bytes = bytes_moved(call)};
}
Cost cost_dequantize(const Call& call) {
  const double each = flops_of_format[static_cast<int>(dequantize_form(call).format)].dequantize +
                      flops_of_dtype(call.out[0].dtype).dequantize;
  return {.flops = each * static_cast<double>(call.out[0].count()), .bytes = bytes_moved(call)};
}

}  // namespace

const CpuKernel cpu::quantize = formed_kernel<quantize_form>(run_quantize, {.cost = cost_quantize});
const CpuKernel cpu::dequantize = formed_kernel<dequantize_form>(run_dequantize, {.cost = cost_dequantize});

}  // namespace tidemark
#endif  // HWY_ONCE
