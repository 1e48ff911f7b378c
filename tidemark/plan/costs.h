// What a plan's kernels are predicted to cost. A group is one kernel: the arithmetic of all its steps, one
// start, and of the bytes those that come from memory, each once, and those that go there.
#pragma once
#include <array>
#include <vector>

#include "tidemark/plan/machine.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

// What the runs of one kernel add up to, which is one by itself or a group.
class KernelSum {
 public:
  explicit KernelSum(const Machine& machine) : machine_(machine) {}

  void add_alone(const Cost& cost, DType dtype) { alone_ += seconds_of(machine_, cost, dtype); }
  // Of a group; `cost.bytes` are those that it moves from and to memory.
  void add_to_group(const Cost& cost, DType dtype);
  double seconds() const;

 private:
  const Machine& machine_;
  double bytes_ = 0, alone_ = 0;
  std::array<double, work_count> work_flops_ = {};  // by kind, as many as take f32 the same time
  bool is_group_ = false;
  WorkKind first_ = WorkKind::by_kind;  // whose bandwidth counts: of the first that moves bytes, and
                                        // where arithmetic overlaps, that of the slowest kind
};

// What a step adds to its kernel: of a group, of the bytes those from and to memory alone.
struct StepCost {
  Cost cost = {};
  DType dtype = DType::f32;  // of the arithmetic
};
// One for each step. What computes nothing costs nothing here.
std::vector<StepCost> step_costs(const Graph& graph, const Plan& plan, const Target& target);

struct KernelCost {
  std::size_t first = 0, last = 0;  // steps [first, last)
  double flops = 0, bytes = 0, seconds = 0;
  double first_seconds = 0;  // of the first run of each node alone; at most `seconds`
};

// One for each kernel, in order. What computes nothing is none.
std::vector<KernelCost> kernel_costs(const Graph& graph, const Plan& plan, const Target& target,
                                     const Machine& machine);

// Per step: a kernel's time at its first, none at its others; a copy's by the link between the memories,
// which the machine has under the same names, beside computing; a code's by its codec's rate.
std::vector<double> step_seconds(const Graph& graph, const Plan& plan, const Target& target,
                                 const Machine& machine);

}  // namespace tidemark
