// Values in fewer bytes: how fast quantize and dequantize go, next to memcpy on the same threads in the same
// run. Bytes are what must move: operands read once, results written once; memcpy moves each byte twice.
//   micro_quantize [threads] [MiB of f32]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tidemark/base/aligned.h"
#include "tidemark/base/philox.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/quantization/quantize.h"
#include "tidemark/ops/registry.h"

namespace {

using namespace tidemark;

double best_of(int runs, const auto& f) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) best = std::min(best, seconds_taken(f));
  return best;
}

struct Value {
  Type type;
  AlignedBytes memory = allocate_aligned(type.bytes());
  TensorRef ref() const { return {memory.get(), type.dtype, type.shape, dense_strides(type.shape)}; }
};

// Seconds of one call; the fastest of some.
double seconds_of(const Op& op, const std::vector<const Value*>& operands, const Value& result,
                  const Attrs& attrs, ThreadPool& pool) {
  std::vector<Type> types;
  std::vector<TensorRef> in;
  for (const Value* operand : operands) types.push_back(operand->type), in.push_back(operand->ref());
  const std::vector<Type> results{result.type};
  const Call call{.op = &op, .in = types, .out = results, .attrs = &attrs};
  const CpuKernel& kernel = *find_cpu_kernel(op);
  const auto attributes = kernel.prepare(call);
  const std::vector<TensorRef> out{result.ref()};
  return best_of(9,
                 [&] { kernel.run({.in = in, .out = out, .attributes = attributes.get(), .pool = &pool}); });
}

double memcpy_rate(ThreadPool& pool, const Value& from) {
  const Value to{from.type};
  const std::int64_t bytes = from.type.bytes(), piece = 64 << 10;
  const double seconds = best_of(9, [&] {
    parallel_for(pool, bytes, piece, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.memory.get() + begin, from.memory.get() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  return 2 * static_cast<double>(bytes) / seconds / 1e9;
}

void compare(const Type& type, ThreadPool& pool) {
  const Value x{type}, back{type}, key{{DType::i64, {}}};
  dispatch_float(type.dtype, [&]<class T>() {
    const Philox philox{7};
    for (std::int64_t i = 0; i < type.count(); ++i)
      x.ref().as<T>()[i] = static_cast<T>(unit_float(philox(static_cast<std::uint64_t>(i))[0]) - 0.5f);
  });
  *key.ref().as<std::int64_t>() = 7;
  std::memset(back.memory.get(), 1, static_cast<std::size_t>(type.bytes()));
  fmt::print("{}, {} threads, memcpy {:.1f} GB/s\n", to_string(type), pool.threads(), memcpy_rate(pool, x));
  fmt::print("{:8}{:>18}{:>18}{:>18}{:>22}\n", "format", "bytes of plain", "quantize GB/s", "stochastic",
             "dequantize GB/s");
  for (int i = 0; i < quant_format_count; ++i) {
    const auto format = static_cast<QuantFormat>(i);
    const Value coded{quantized_type(format, type)};
    std::memset(coded.memory.get(), 1, static_cast<std::size_t>(coded.type.bytes()));
    const double moved = static_cast<double>(type.bytes() + coded.type.bytes()) / 1e9;
    const Attrs attrs = pack(QuantizeAttrs{.format = std::string(name_of(format))});
    const Attrs back_attrs = pack(
        DequantizeAttrs{.format = std::string(name_of(format)), .dtype = type.dtype, .shape = type.shape});
    const double stochastic = seconds_of(op::quantize, {&x, &key}, coded, attrs, pool);
    const double there = seconds_of(op::quantize, {&x}, coded, attrs, pool);
    const double again = seconds_of(op::dequantize, {&coded}, back, back_attrs, pool);
    fmt::print("{:8}{:>17.1f}%{:>18.1f}{:>18.1f}{:>22.1f}\n", name_of(format),
               100.0 * static_cast<double>(coded.type.bytes()) / static_cast<double>(type.bytes()),
               moved / there, moved / stochastic, moved / again);
  }
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 0);
  const std::int64_t elements = (argc > 2 ? std::atoll(argv[2]) : 64) << 18;
  compare({DType::f32, {elements}}, pool);
  compare({DType::bf16, {elements}}, pool);
  compare({DType::f64, {elements / 2}}, pool);
}
