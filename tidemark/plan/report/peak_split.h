// What the peak of a plan is made of.
#pragma once
#include <array>
#include <cstdint>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/memory_roles.h"

namespace tidemark {

struct PeakSplit {
  std::array<std::int64_t, peak_role_count> bytes = {};  // by role; together the peak of the first memory
  std::int64_t of(PeakRole role) const { return bytes[static_cast<std::size_t>(role)]; }

  // Gradients of parameters that have memory: how many bytes they would take all at once, and the most that
  // they do.
  int gradients = 0;
  std::int64_t all_gradients = 0, most_gradients = 0;
  bool all_needed = false;    // an update depends on several of them: a norm over all, a loss scale
  bool all_returned = false;  // each is a result
  // Parameters, moments and gradients when they are most: the first two are there throughout.
  std::int64_t most_learned() const {
    return of(PeakRole::parameters) + of(PeakRole::moments) + most_gradients;
  }
};
PeakSplit peak_split(const Graph& graph, const Plan& plan);

}  // namespace tidemark
