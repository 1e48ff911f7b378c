// How long each kernel of a plan takes: an executor of its own, run a few times with every step timed.
#pragma once
#include <span>
#include <vector>

#include "tidemark/cpu/device.h"
#include "tidemark/plan/plan.h"

namespace tidemark::bench {

struct StepTimes {
  std::vector<double> seconds;  // per step, the least over all rounds; a group's are those of its first step
  double whole = 0;             // of all steps at once, likewise
};

// `inputs`: memory for each of the graph's inputs, which the run may overwrite; none: random numbers, and
// zero for indices.
StepTimes step_times(const Graph& graph, const Plan& plan, CpuDevice& device, int rounds,
                     std::span<std::byte* const> inputs = {});

}  // namespace tidemark::bench
