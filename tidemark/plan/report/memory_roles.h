// What the memory of a plan holds, moment by moment. Parameters are the inputs that reverse mode was asked
// about, and by the names that trees give those in a field `parameters` of an argument: an optimizer's state,
// whose other fields are moments. So is an input of a parameter's shape that updates alone read. Other inputs
// are data.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

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
std::string_view name_of(PeakRole role);   // in JSON
std::string_view label_of(PeakRole role);  // for people: "stored activations"

// A stretch of a buffer's life in which it holds one thing. In steps, half-open.
struct RoleSpan {
  std::int32_t begin = 0, end = 0;
  PeakRole role = PeakRole::temporaries;
  friend bool operator==(const RoleSpan&, const RoleSpan&) = default;
};
// Per buffer: its life in order, without gaps. What is there for a reader outside of the forward pass is an
// activation until the last such reader; what a step writes over it is what that step makes. The
// caller's memory is there throughout; tiles, which have no memory, have none.
std::vector<std::vector<RoleSpan>> roles_over_time(const Graph& graph, const Plan& plan);

}  // namespace tidemark
