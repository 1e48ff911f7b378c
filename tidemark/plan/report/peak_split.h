// What the peak of a plan is made of. Whose memory a value is, its role, comes from the names that trees
// give: an argument with a field `parameters` is an optimizer's state, so `parameters.…` are parameters and
// its other fields moments; `gradients.…` is what optim::step calls gradients. What has no such name is data.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "tidemark/plan/plan.h"

namespace tidemark {

enum class PeakRole : std::uint8_t {
  parameters,
  moments,      // all else in an optimizer's state
  data,         // other arguments
  gradients,    // of parameters
  activations,  // made before the forward pass ends, kept for the backward pass
  recomputed,   // made a second time
  temporaries,  // other values of the moment
  workspaces,   // scratch of kernels
  results,
  unused,  // between buffers
};
inline constexpr int peak_role_count = 10;
std::string_view name_of(PeakRole role);

struct PeakSplit {
  std::array<std::int64_t, peak_role_count> bytes = {};  // by role; together the peak of the first memory
  std::int64_t of(PeakRole role) const { return bytes[static_cast<std::size_t>(role)]; }

  // Gradients of parameters that have memory: how many bytes they would take all at once, and the most that
  // they do.
  int gradients = 0;
  std::int64_t all_gradients = 0, most_gradients = 0;
  bool all_needed = false;  // an update depends on several of them: a norm over all, a loss scale
  // Parameters, moments and gradients when they are most: the first two are there throughout.
  std::int64_t most_learned() const {
    return of(PeakRole::parameters) + of(PeakRole::moments) + most_gradients;
  }
};
PeakSplit peak_split(const Graph& graph, const Plan& plan);

}  // namespace tidemark
