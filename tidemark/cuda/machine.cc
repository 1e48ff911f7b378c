#include "tidemark/cuda/machine.h"

#include <cstdlib>

namespace tidemark::cuda {
namespace {

// A way to a disk, or back, through the host's memory: one copy after the other. A link to memory `disk`.
Link by_way_of(const Link& host, const Link& drive, int disk) {
  const auto after = [](double a, double b) { return 1 / (1 / a + 1 / b); };
  return {.from = host.from == 0 ? 0 : disk,
          .to = host.to == 0 ? 0 : disk,
          .latency = host.latency + drive.latency,
          .bandwidth = after(host.bandwidth, drive.bandwidth),
          .beside_compute = after(host.beside_compute, drive.beside_compute)};
}

// As `tidemark machine --device cuda` saw one, rounded; docs/cuda.md has the table of what is guessed.
Machine make_h200() {
  const auto curve = [](std::initializer_list<Curve::Point> points) { return Curve{points}; };
  const Curve bytes =
      curve({{16e3, 0.068e12}, {0.25e6, 0.8e12}, {3.6e6, 5.5e12}, {54e6, 4.3e12}, {0.8e9, 4.1e12}});
  const Curve arithmetic =
      curve({{4e3, 25e12}, {0.9e6, 42e12}, {14e6, 57e12}, {200e6, 82e12}, {3e9, 126e12}});
  // f32 does not use the tensor cores' own format (TF32), 16-bit floats do theirs.
  const std::array<double, dtype_count> tensor_cores = {1, 1.3, 15, 15, 0.5, 0.2, 0.5, 0.5};
  Machine m{.name = "NVIDIA H200",
            .threads = 1,
            .memory_bytes = std::int64_t{139} << 30,
            .overhead = 1e-6,
            .overlaps = true};
  for (int w = 1; w < work_count; ++w)  // no call is of the kind `by_kind`
    m[static_cast<WorkKind>(w)] = {.flops = arithmetic, .bytes = bytes};
  m[WorkKind::elementwise].speed[static_cast<std::size_t>(DType::bf16)] = 0.46;
  m[WorkKind::elementwise].speed[static_cast<std::size_t>(DType::f16)] = 0.46;
  m[WorkKind::reduction] = {
      .flops = curve({{33e3, 3.2e12}, {34e6, 3.4e12}}),
      .bytes = curve({{65e3, 0.06e12}, {0.8e6, 0.6e12}, {11e6, 2.2e12}, {130e6, 3e12}, {600e6, 3.5e12}})};
  m[WorkKind::rows] = {
      .flops = curve({{0.27e6, 61e12}, {1.3e9, 66e12}}),
      .bytes = curve({{130e3, 70e9}, {1.7e6, 0.8e12}, {21e6, 2.3e12}, {100e6, 2.6e12}, {270e6, 3.7e12}})};
  m[WorkKind::contraction] = {
      .flops = curve({{0.5e6, 0.24e12}, {10e6, 2.6e12}, {180e6, 15e12}, {3.2e9, 50e12}, {1.1e12, 50e12}}),
      .bytes = curve({{25e3, 0.02e12}, {0.28e6, 0.15e12}, {3.2e6, 1e12}, {36e6, 2.6e12}, {400e6, 3.4e12}}),
      .speed = tensor_cores};
  m[WorkKind::convolution] = m[WorkKind::contraction];
  m[WorkKind::contraction].speed[static_cast<std::size_t>(DType::bf16)] = 16.5;
  m[WorkKind::contraction].speed[static_cast<std::size_t>(DType::f16)] = 16.5;
  m[WorkKind::attention] = {.flops = curve({{120e6, 15e12}, {1.9e9, 19e12}, {6e9, 27e12}, {28e9, 28e12}}),
                            .bytes = curve({{3.2e6, 0.9e12}, {18e6, 2.5e12}, {100e6, 6e12}}),
                            .speed = {1, 1.1, 12, 12, 0.5, 0.2, 0.5, 0.5}};
  m[WorkKind::indexed] = {.flops = curve({{50e3, 4.6e9}, {0.8e6, 73e9}, {13e6, 1.15e12}}),
                          .bytes = curve({{0.4e6, 2e12}, {9e6, 3.8e12}, {200e6, 4.8e12}})};
  m[WorkKind::random] = {
      .flops = curve({{130e3, 0.25e12}, {1.8e6, 1.9e12}, {23e6, 12e12}, {310e6, 20e12}, {4.2e9, 22e12}}),
      .bytes = bytes};
  m[WorkKind::sort] = {.flops = curve({{49e3, 3e9}, {1.2e6, 35e9}, {28e6, 0.21e12}}), .bytes = bytes};
  m[WorkKind::factorization] = {.flops = curve({{1e5, 0.01e12}, {1e9, 1e12}}), .bytes = bytes};
  m.further = {{.name = std::string(host_memory_name), .bytes = std::int64_t{64} << 30},
               {.name = std::string(disk_memory_name), .bytes = std::int64_t{100} << 30}};
  m.links = {{.from = 0, .to = 1, .latency = 11e-6, .bandwidth = 55e9, .beside_compute = 52e9},
             {.from = 1, .to = 0, .latency = 11e-6, .bandwidth = 55e9, .beside_compute = 52e9}};
  m.links.push_back(by_way_of(m.links[0], *find_link(reference_machine(), 0, 1), 2));
  m.links.push_back(by_way_of(m.links[1], *find_link(reference_machine(), 1, 0), 2));
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
