#include "bench/support/step_times.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "tidemark/ir/graph.h"
#include "tidemark/ops/cpu_target.h"

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

TimedPlan::TimedPlan(const Graph& graph, const Plan& plan, CpuDevice& device,
                     std::span<std::byte* const> inputs)
    : arena_(device, plan.arena_bytes),
      executor_(graph, verified(graph, plan, cpu_target()), device, arena_),
      memory_(host_addresses(inputs)),
      clock_(device.pool().threads()),
      times_{.seconds = std::vector<double>(plan.steps.size(), 1e9), .whole = 1e9} {
  std::mt19937 random(1);
  for (std::size_t i = memory_.size(); i < graph.inputs().size(); ++i) {
    const Type& type = graph.type(graph.inputs()[i].value);
    owned_.push_back(allocate_aligned(type.bytes()));
    fill(owned_.back().get(), type, random);
    memory_.push_back(host_address(owned_.back().get()));
  }
  executor_.run(memory_);
}

void TimedPlan::run() {
  const double begin = clock_.now();
  double last = begin;
  executor_.run(memory_, [&](std::size_t step) {
    const double now = clock_.now();
    double& least = times_.seconds[step];
    least = std::min(least, std::max(now - last - clock_.cost(), clock_.resolution()));
    last = now;
  });
  const double looking = clock_.cost() * static_cast<double>(times_.seconds.size());
  times_.whole = std::min(times_.whole, last - begin - looking);
}

StepTimes step_times(const Graph& graph, const Plan& plan, CpuDevice& device, int rounds,
                     std::span<std::byte* const> inputs) {
  TimedPlan timed(graph, plan, device, inputs);
  for (int round = 0; round < rounds; ++round) timed.run();
  return timed.times();
}

}  // namespace tidemark::bench
