#include "tidemark/cuda/machine.h"

namespace tidemark::cuda {

// From the datasheet and from products, copies and attention measured on one (docs/benchmarks.md): rates of
// kernels inside a graph. f32 does not use the tensor cores' own format (TF32), 16-bit floats do theirs.
const Machine& h200_machine() {
  static const Machine machine = [] {
    const auto curve = [](std::initializer_list<Curve::Point> points) { return Curve{points}; };
    const Curve bytes = curve({{1e5, 400e9}, {1e6, 1.6e12}, {20e6, 2.8e12}, {200e6, 3.6e12}, {2e9, 4.1e12}});
    const Curve arithmetic = curve({{1e5, 1e12}, {1e7, 12e12}, {1e9, 30e12}});
    const std::array<double, dtype_count> tensor_cores = {1, 1.1, 13, 13, 0.5, 0.2, 0.5, 0.5};
    Machine m{
        .name = "NVIDIA H200", .threads = 1, .memory_bytes = std::int64_t{139} << 30, .overhead = 1.8e-6};
    for (WorkRates& rates : m.work) rates = {.flops = arithmetic, .bytes = bytes};
    m[WorkKind::contraction] = {.flops = curve({{1e6, 0.5e12}, {1e8, 12e12}, {1e10, 42e12}, {1e12, 50e12}}),
                                .bytes = bytes,
                                .speed = tensor_cores};
    m[WorkKind::convolution] = m[WorkKind::contraction];
    m[WorkKind::attention] = {
        .flops = curve({{1e7, 2e12}, {1e9, 15e12}, {1e11, 25e12}}), .bytes = bytes, .speed = tensor_cores};
    m[WorkKind::sort] = {.flops = curve({{1e5, 0.1e12}, {1e8, 2e12}}), .bytes = bytes};
    m[WorkKind::factorization] = {.flops = curve({{1e5, 0.01e12}, {1e9, 1e12}}), .bytes = bytes};
    m.further = {{.name = std::string(host_memory_name), .bytes = std::int64_t{64} << 30}};
    m.links = {{.from = 0, .to = 1, .latency = 8e-6, .bandwidth = 55e9, .beside_compute = 52e9},
               {.from = 1, .to = 0, .latency = 8e-6, .bandwidth = 55e9, .beside_compute = 52e9}};
    return m;
  }();
  return machine;
}

}  // namespace tidemark::cuda
