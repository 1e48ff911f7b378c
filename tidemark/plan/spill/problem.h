// A finished plan as a joint problem (solve/joint/problem.h). The choices are its kernels, in their order.
// The items are what its buffers hold from one write to the next. Optional tasks take an item to a tier and
// back, or into an exact codec's form and back.
#pragma once
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/spill/tier.h"
#include "tidemark/solve/joint/problem.h"

namespace tidemark {

// Where a value can wait: a tier, or the first memory in another form.
struct WaitingRoom {
  int memory = 0;  // of the plan
  const Codec* codec = nullptr;
};

struct SpillProblem {
  // An item of the first memory.
  struct Held {
    BufferId buffer;     // of the plain plan
    ValueId value = {};  // all of it, dense; invalid: it is not to be moved
  };
  // An optional task.
  struct Move {
    int item = 0, room_item = 0;  // that it is about; that stands for it elsewhere
    WaitingRoom room = {};
    bool leaves = false;  // else it returns
  };

  JointProblem joint;                    // the first memory without a budget
  std::vector<std::size_t> first_steps;  // of the kernels, which are the first tasks, and the end
  std::vector<Held> held;                // items of the first memory are the first items
  std::vector<Move> moves;               // tasks behind the kernels
  std::vector<HintReport> hints;         // the plan's, offloads answered (offloads.h)

  std::size_t kernels() const { return first_steps.size() - 1; }
};

// `plain`: of one memory and one lane. Ways for what has a gap while the load of the arena is above
// `allowed`, the largest first, where there are too many.
SpillProblem spill_problem_of(const Graph& graph, const Plan& plain, const Target& target,
                              const Machine& machine, const std::vector<Tier>& tiers, std::int64_t allowed);

}  // namespace tidemark
