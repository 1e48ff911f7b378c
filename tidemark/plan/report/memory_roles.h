// What the memory of a plan holds, moment by moment. Whose memory a value is, its role, comes from the names
// that trees give: an argument with a field `parameters` is an optimizer's state, so `parameters.…` are
// parameters and its other fields moments; `gradients.…` is what optim::step calls gradients. What has no
// such name is data.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

struct Value;

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

// Of which part of a training step a node is. forward: what outputs depend on that depend on no gradient (the
// loss, and what it returns besides); update: what depends on the gradient of a parameter; backward: the
// rest.
enum class Phase : std::uint8_t { forward, backward, update };
std::vector<Phase> phases_of(const Graph& graph);  // per node

// Per value: is it a gradient of a parameter, or what such a one is made of by a kernel that never writes it
// as a whole: the terms of a sum that is part of the update, a matrix that is read transposed?
std::vector<bool> gradient_values(const Graph& graph, const Plan& plan);
bool is_gradient(const Value& value);  // by its name

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
