// How long each kernel of a plan takes: an executor of its own, run a few times with every step timed.
#pragma once
#include <span>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/kernel_clock.h"
#include "tidemark/plan/plan.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::bench {

struct StepTimes {
  std::vector<double> seconds;  // per step, the least over all rounds; a group's are those of its first step
  double whole = 0;             // of all steps at once, likewise
};

// A plan that is run again and again, with its least times so far. `inputs`: memory for each of the graph's
// inputs, which the run may overwrite; none: random numbers, and zero for indices.
class TimedPlan {
 public:
  TimedPlan(const Graph& graph, const Plan& plan, CpuDevice& device, std::span<std::byte* const> inputs = {});
  void run();
  const StepTimes& times() const { return times_; }

 private:
  Arena arena_;
  Executor executor_;
  std::vector<AlignedBytes> owned_;
  std::vector<Address> memory_;
  KernelClock clock_;
  StepTimes times_;
};

// So many rounds of it, after one that does not count.
StepTimes step_times(const Graph& graph, const Plan& plan, CpuDevice& device, int rounds,
                     std::span<std::byte* const> inputs = {});

}  // namespace tidemark::bench
