#include "tidemark/cuda/machine.h"

#include <cstdlib>

namespace tidemark::cuda {
namespace {

Machine make_h200() {
  const auto curve = [](std::initializer_list<Curve::Point> points) { return Curve{points}; };
  const Curve bytes = curve({{1e5, 400e9}, {1e6, 1.6e12}, {20e6, 2.8e12}, {200e6, 3.6e12}, {2e9, 4.1e12}});
  const Curve arithmetic = curve({{1e5, 1e12}, {1e7, 12e12}, {1e9, 30e12}});
  // f32 does not use the tensor cores' own format (TF32), 16-bit floats do theirs.
  const std::array<double, dtype_count> tensor_cores = {1, 1.1, 13, 13, 0.5, 0.2, 0.5, 0.5};
  Machine m{.name = "NVIDIA H200", .threads = 1, .memory_bytes = std::int64_t{139} << 30, .overhead = 1.8e-6};
  for (int w = 1; w < work_count; ++w)  // no call is of the kind `by_kind`
    m[static_cast<WorkKind>(w)] = {.flops = arithmetic, .bytes = bytes};
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
}

// The same chip with less and slower memory: arithmetic is the H200's, bandwidth is in proportion where
// operands come from memory (3.35 of 4.8 TB/s), and the same where they stay in the second-level cache.
Machine make_h100() {
  constexpr double memory = 3.35 / 4.8;
  constexpr double cache_bytes = 50e6;
  Machine m = h200_machine();
  m.name = "NVIDIA H100";
  m.memory_bytes = std::int64_t{79} << 30;
  for (WorkRates& rates : m.work) {
    for (Curve::Point& point : rates.bytes.points) {
      if (point.size > cache_bytes) point.rate *= memory;
    }
  }
  return m;
}

}  // namespace

const Machine& h200_machine() {
  static const Machine machine = make_h200();
  return machine;
}

const Machine& h100_machine() {
  static const Machine machine = make_h100();
  return machine;
}

const Machine& machine_for(std::string_view gpu) {
  return gpu.find("H100") == std::string_view::npos ? h200_machine() : h100_machine();
}

std::unique_ptr<const Machine> machine_from_file(std::string_view gpu) {
  const char* const path = std::getenv("TIDEMARK_CUDA_MACHINE");
  if (!path || path[0] == '\0') return nullptr;
  auto machine = std::make_unique<const Machine>(load_machine(path));
  return machine->name == gpu ? std::move(machine) : nullptr;
}

}  // namespace tidemark::cuda
