// Spilling: a plan that is above its budget comes down to it because values wait in other memories, or in
// smaller forms, while nobody reads them. Which, and when they leave and return, is a joint problem
// (problem.h) with the plan's kernels as they are; copies run beside computing, and what they do not hide
// behind is a stall that counts.
#pragma once
#include "tidemark/plan/plan.h"
#include "tidemark/plan/spill/tier.h"

namespace tidemark {

class SearchControl;

struct SpillOptions {
  std::int64_t memory = 0;           // bytes of the first memory, inputs included
  const Machine* machine = nullptr;  // that `tiers` is of
  std::vector<Tier> tiers = {};
  std::int64_t units = 1'000'000;    // of the search, about a microsecond each
  SearchControl* control = nullptr;  // may end it early
};

// `plain` has one memory and one lane. The fastest plan within the budgets that was found; where there was
// none, the lowest that keeps those of the tiers, which may be `plain` itself. What hints ask to wait on the
// disk does so in all but the last case.
Plan spill(const Graph& graph, const Plan& plain, const Target& target, const SpillOptions& options);

}  // namespace tidemark
