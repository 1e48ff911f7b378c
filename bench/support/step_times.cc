#include "bench/support/step_times.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/kernel_clock.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::bench {
namespace {

void fill(std::byte* bytes, const Type& type, std::mt19937& random) {
  std::memset(bytes, 0, static_cast<std::size_t>(type.bytes()));
  if (type.dtype != DType::f32) return;
  for (std::int64_t i = 0; i < type.count(); ++i) {
    const float value = (static_cast<float>(random() % 1024) - 511.5f) / 8192;
    std::memcpy(bytes + 4 * i, &value, 4);
  }
}

}  // namespace

StepTimes step_times(const Graph& graph, const Plan& plan, CpuDevice& device, int rounds,
                     std::span<std::byte* const> inputs) {
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, cpu_target()), device, arena);
  std::vector<AlignedBytes> owned;
  std::vector<Address> memory = host_addresses(inputs);
  std::mt19937 random(1);
  for (std::size_t i = memory.size(); i < graph.inputs().size(); ++i) {
    const Type& type = graph.type(graph.inputs()[i].value);
    owned.push_back(allocate_aligned(type.bytes()));
    fill(owned.back().get(), type, random);
    memory.push_back(host_address(owned.back().get()));
  }
  executor.run(memory);
  const KernelClock clock(device.pool().threads());
  StepTimes times{.seconds = std::vector<double>(plan.steps.size(), 1e9), .whole = 1e9};
  for (int round = 0; round < rounds; ++round) {
    const double begin = clock.now();
    double last = begin;
    executor.run(memory, [&](std::size_t step) {
      const double now = clock.now();
      double& least = times.seconds[step];
      least = std::min(least, std::max(now - last - clock.cost(), clock.resolution()));
      last = now;
    });
    times.whole = std::min(times.whole, last - begin - clock.cost() * static_cast<double>(plan.steps.size()));
  }
  return times;
}

}  // namespace tidemark::bench
