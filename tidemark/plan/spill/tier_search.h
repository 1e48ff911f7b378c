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

// By recomputation alone: the fastest plan found whose arena is within `allowed` bytes, the lowest met where
// there is none. With `floor`, the lowest there is.
struct RecomputedPlans {
  std::function<Plan(std::int64_t allowed)> within;
  std::function<Plan()> floor;
};

// Where nothing fits, the lowest plan that was found: the same whatever was asked for, so that it can be
// reported as the smallest budget and planned for.
Plan plan_with_tiers(const Graph& graph, const Target& target, const RecomputedPlans& recomputed,
                     const SpillOptions& options);

}  // namespace tidemark
