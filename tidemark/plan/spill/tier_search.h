// A budget with further memories: what runs again and what waits elsewhere, together. Recomputation brings
// the plan down to one load after the other, from all that it takes freely to the budget itself; spilling
// brings each of these the rest of the way. The fastest that fits is taken.
//
//   load   free ┬─── spill ────────────────────▶┐
//               ├ recompute ┬─── spill ────────▶├ the fastest
//               │           ├ recompute ┬ spill▶┤
//   budget      ┴───────────┴───────────┴──────▶┘
#pragma once
#include <functional>

#include "tidemark/plan/spill/spill.h"

namespace tidemark {

// In one memory: the fastest plan found, with a share of the effort, whose arena is within `allowed` bytes;
// the lowest met where there is none. `floor`: the lowest there is; none: nobody asks for it.
struct PlainPlans {
  std::function<Plan(std::int64_t allowed, double share)> within;
  std::function<Plan()> floor;
};

// From plans that run everything once, and from those that may run something again; null: they may not.
// Where nothing fits, the lowest plan that was found: the same whatever was asked for, so that it can be
// reported as the smallest budget and planned for.
Plan plan_with_tiers(const Graph& graph, const Target& target, const PlainPlans& once,
                     const PlainPlans* repeating, const SpillOptions& options);

}  // namespace tidemark
