// What the ops mean, as code: numbers are decoded and multiplied in f32. No CPU multiplies fp8 faster than
// that.
#include <algorithm>
#include <array>
#include <atomic>

#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/quantization/fp8.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

constexpr std::int64_t few_elements = 1 << 14;  // of a task

void run_scale(const KernelArgs& args) {
  const auto format = args.attrs<Fp8Format>();
  std::atomic<std::uint32_t> largest = 0;  // whoever comes first, it is the same
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* const x = args.in[0].as<T>();
    parallel_for(*args.pool, args.in[0].count(), few_elements, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t most = 0;
      for (std::int64_t i = begin; i < end; ++i)
        most = std::max(most, fp8_magnitude(static_cast<float>(x[i])));
      std::uint32_t known = largest.load();
      while (known < most && !largest.compare_exchange_weak(known, most)) {
      }
    });
  });
  *args.out[0].as<float>() = fp8_scale(format, largest);
}

void run_codes(const KernelArgs& args) {
  const auto& form = args.attrs<Fp8CodesForm>();
  const float inverse = 1 / *args.in[1].as<float>();
  auto* const codes = args.out[0].as<std::uint8_t>();
  const std::int64_t row_step = form.transposed ? 1 : form.columns, step = form.transposed ? form.rows : 1;
  dispatch_float(args.in[0].dtype, [&]<class T>() {
    const T* const x = args.in[0].as<T>();
    const std::int64_t few =
        std::max<std::int64_t>(1, few_elements / std::max<std::int64_t>(1, form.columns));
    parallel_for(*args.pool, form.rows, few, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t c = 0; c < form.columns; ++c) {
          const auto number = static_cast<float>(x[r * form.columns + c]);
          codes[r * row_step + c * step] = fp8_code(form.format, number * inverse);
        }
      }
    });
  });
}

// Decoded operands lie before what the product itself needs.
struct ProductScratch {
  std::int64_t rhs = 0, product = 0, bytes = 0;

  explicit ProductScratch(const Fp8ProductForm& form) {
    rhs = align_up(4 * form.m * form.k, buffer_alignment);
    product = rhs + align_up(4 * form.n * form.k, buffer_alignment);
    bytes = product + gemm::scratch_bytes<float>({form.m, form.n, form.k}, true, false);
  }
};

void decode(ThreadPool& pool, Fp8Format format, const TensorRef& codes, float* to) {
  std::array<float, 256> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = fp8_value(format, static_cast<std::uint8_t>(i));
  const auto* const from = codes.as<std::uint8_t>();
  parallel_for(pool, codes.count(), few_elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = values[from[i]];
  });
}

// Takes finished sums to the result: times both scales, then rounded; what they are added to is added to
// that.
template <class T>
struct Fp8Delivery {
  T* out;
  const T* sum;  // nullptr: none; may be `out`
  float lhs_scale, rhs_scale;
  std::int64_t n;

  static void finish(const void* self, const gemm::Finished<float>& piece) {
    const auto& to = *static_cast<const Fp8Delivery*>(self);
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      for (std::int64_t j = 0; j < piece.cols; ++j) {
        const std::int64_t at = (piece.row + i) * to.n + piece.col + j;
        const T product = static_cast<T>(piece.data[i * piece.ld + j] * to.lhs_scale * to.rhs_scale);
        to.out[at] = to.sum ? static_cast<T>(wide(to.sum[at]) + wide(product)) : product;
      }
    }
  }
  static auto wide(T x) {
    if constexpr (sizeof(T) == 8) {
      return x;
    } else {
      return static_cast<float>(x);
    }
  }
};

gemm::Axes axis(std::int64_t size, std::int64_t stride) { return {{size}, {stride}}; }

void run_product(const KernelArgs& args) {
  const auto& form = args.attrs<Fp8ProductForm>();
  const ProductScratch parts(form);
  auto* const lhs = reinterpret_cast<float*>(args.scratch);
  auto* const rhs = reinterpret_cast<float*>(args.scratch + parts.rhs);
  decode(*args.pool, form.lhs, args.in[0], lhs);
  decode(*args.pool, form.rhs, args.in[1], rhs);
  const gemm::Strided a{reinterpret_cast<const std::byte*>(lhs), DType::f32, axis(form.m, form.k),
                        axis(form.k, 1)};
  const gemm::Strided b{reinterpret_cast<const std::byte*>(rhs), DType::f32, axis(form.n, form.k),
                        axis(form.k, 1)};
  gemm::Product<float> product{
      .sizes = {form.m, form.n, form.k}, .a = gemm::source_of<float>(a), .b = gemm::source_of<float>(b)};
  product.a.plain = product.b.plain = nullptr;
  dispatch_float(args.out[0].dtype, [&]<class T>() {
    const Fp8Delivery<T> delivery{.out = args.out[0].as<T>(),
                                  .sum = args.in.size() == 5 ? args.in[4].as<T>() : nullptr,
                                  .lhs_scale = *args.in[2].as<float>(),
                                  .rhs_scale = *args.in[3].as<float>(),
                                  .n = form.n};
    product.epilogue = {Fp8Delivery<T>::finish, &delivery};
    gemm::run(*args.pool, product, args.scratch + parts.product);
  });
}

Cost scale_cost(const Call& call) {
  return {.flops = static_cast<double>(call.in[0].count()), .bytes = bytes_moved(call)};
}
Cost codes_cost(const Call& call) {
  constexpr double per_element = 12;
  return {.flops = per_element * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
Cost product_cost(const Call& call) {
  const Fp8ProductForm form = fp8_product_form(call);
  const auto count = [](std::int64_t x) { return static_cast<double>(x); };
  return {.flops = 2 * count(form.m) * count(form.n) * count(form.k), .bytes = bytes_moved(call)};
}
std::int64_t product_scratch(const Call& call) { return ProductScratch(fp8_product_form(call)).bytes; }
bool product_in_place(const Call& call, int, int operand) { return operand == 4 && call.is_dense_operand(4); }

}  // namespace

const CpuKernel cpu::fp8_scale = formed_kernel<fp8_scale_format>(run_scale, {.cost = scale_cost});
const CpuKernel cpu::fp8_codes = formed_kernel<fp8_codes_form>(run_codes, {.cost = codes_cost});
const CpuKernel cpu::fp8_product = formed_kernel<fp8_product_form>(
    run_product, {.cost = product_cost, .scratch = product_scratch, .in_place = product_in_place});

}  // namespace tidemark
