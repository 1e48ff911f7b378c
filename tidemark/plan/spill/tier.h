// A further memory that a plan may use: values wait there while nobody reads them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/plan/machine.h"

namespace tidemark {

struct TierBudget {
  std::string memory = {};  // its name, as the machine's
  std::int64_t bytes = 0;   // that the plan may take of it
};

// Memory k of a plan with tiers, k > 0, is its tier k - 1; it takes pages, which every device can move.
inline constexpr std::int64_t tier_alignment = 4096;

struct Tier {
  std::string name = {};
  std::int64_t budget = 0;
  const Link *out = nullptr, *in = nullptr;  // from the first memory, and back; of the machine
};

// Throws Error bad_plan_option where the machine has no such memory, no link to it and back, or where one is
// named twice.
std::vector<Tier> tiers_of(const Machine& machine, const std::vector<TierBudget>& budgets);

}  // namespace tidemark
