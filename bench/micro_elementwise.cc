// Speed of the elementwise kernels: memory moved per second, next to memcpy, and time per element.
//   micro_elementwise [threads]
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "tidemark/base/stopwatch.h"
#include "tidemark/ops/registry.h"

namespace {

using namespace tidemark;

// The fastest of several runs, in seconds.
double time_of(const std::function<void()>& f) {
  double best = 1e30;
  for (int i = 0; i < 7; ++i) {
    const Stopwatch watch;
    f();
    best = std::min(best, watch.seconds());
  }
  return best;
}

class Buffer {
 public:
  Buffer(DType dtype, const Shape& shape)
      : ref_{.data = nullptr, .dtype = dtype, .shape = shape, .strides = dense_strides(shape)},
        memory_(static_cast<std::size_t>(element_count(shape) * size_of(dtype) + buffer_alignment)) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    ref_.data = memory_.data() + (buffer_alignment - address % buffer_alignment) % buffer_alignment;
    dispatch(dtype, [&]<class T>() {
      for (std::int64_t i = 0; i < ref_.count(); ++i) {
        const float value = static_cast<float>(i % 1000) * 0.004f + 0.1f;
        if constexpr (std::is_same_v<T, bool>) {
          ref_.as<T>()[i] = i % 2 == 0;
        } else {
          ref_.as<T>()[i] = static_cast<T>(value);
        }
      }
    });
  }
  const TensorRef& ref() const { return ref_; }
  double bytes() const { return static_cast<double>(ref_.count() * size_of(ref_.dtype)); }

 private:
  TensorRef ref_;
  std::vector<std::byte> memory_;
};

struct Row {
  const char* name;
  const CpuKernel& kernel;
  std::vector<DType> in;
  DType out;
  std::vector<Shape> shapes = {};  // of the operands, where they are not the result's
};

void measure(const Row& row, const Shape& shape, ThreadPool& pool, double memcpy_rate) {
  std::vector<Buffer> operands;
  std::vector<TensorRef> in;
  double bytes = 0;
  for (std::size_t i = 0; i < row.in.size(); ++i) {
    operands.emplace_back(row.in[i], row.shapes.empty() ? shape : row.shapes[i]);
    in.push_back(operands.back().ref());
    bytes += operands.back().bytes();
  }
  const Buffer out(row.out, shape);
  bytes += out.bytes();
  std::vector<Type> types;
  for (const TensorRef& ref : in) types.push_back({ref.dtype, ref.shape});
  const Type result{row.out, shape};
  const Attrs attrs;
  const auto attributes = row.kernel.prepare({.in = types, .out = std::span(&result, 1), .attrs = &attrs});
  const double seconds = time_of([&] {
    row.kernel.run({.in = in,
                    .out = std::span(&out.ref(), 1),
                    .attributes = attributes.get(),
                    .scratch = nullptr,
                    .pool = &pool});
  });
  const double rate = bytes / seconds;
  fmt::print("{:<22} {:>5} {:>8.2f} {:>8.0f}% {:>8.3f}\n", row.name, name_of(row.in.back()), rate / 1e9,
             100 * rate / memcpy_rate, seconds / static_cast<double>(element_count(shape)) * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  using enum DType;
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 0);
  const std::int64_t rows = 4096, columns = 4096;
  const Shape shape{rows, columns};
  Buffer source(f32, shape), target(f32, shape);
  const auto size = static_cast<std::int64_t>(source.bytes());
  const double seconds = time_of([&] {
    parallel_for(pool, size, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(target.ref().data + begin, source.ref().data + begin,
                  static_cast<std::size_t>(end - begin));
    });
  });
  const double memcpy_rate = 2 * source.bytes() / seconds;
  fmt::print("{} threads, {} elements; memcpy {:.2f} GB/s (read + write)\n", pool.threads(), rows * columns,
             memcpy_rate / 1e9);
  fmt::print("{:<22} {:>5} {:>8} {:>9} {:>8}\n", "kernel", "dtype", "GB/s", "of memcpy", "ns/elem");

  const std::vector<Row> list = {
      {"add", cpu::add, {f32, f32}, f32},
      {"mul", cpu::mul, {f32, f32}, f32},
      {"mul", cpu::mul, {f64, f64}, f64},
      {"add", cpu::add, {bf16, bf16}, bf16},
      {"add", cpu::add, {f16, f16}, f16},
      {"add", cpu::add, {i32, i32}, i32},
      {"add a row", cpu::add, {f32, f32}, f32, {shape, {columns}}},
      {"add a column", cpu::add, {f32, f32}, f32, {shape, {rows, 1}}},
      {"add one element", cpu::add, {f32, f32}, f32, {shape, {}}},
      {"relu", cpu::relu, {f32}, f32},
      {"greater", cpu::greater, {f32, f32}, boolean},
      {"select", cpu::select, {boolean, f32, f32}, f32},
      {"sqrt", cpu::sqrt, {f32}, f32},
      {"exp", cpu::exp, {f32}, f32},
      {"log", cpu::log, {f32}, f32},
      {"tanh", cpu::tanh, {f32}, f32},
      {"sigmoid", cpu::sigmoid, {f32}, f32},
      {"erf", cpu::erf, {f32}, f32},
      {"gelu", cpu::gelu, {f32}, f32},
      {"gelu", cpu::gelu, {f64}, f64},
      {"gelu_slope", cpu::gelu_slope, {f32}, f32},
      {"softplus", cpu::softplus, {f32}, f32},
      {"sin", cpu::sin, {f32}, f32},
      {"pow", cpu::pow, {f32, f32}, f32},
  };
  for (const Row& row : list) measure(row, shape, pool, memcpy_rate);
}
