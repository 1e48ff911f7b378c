// Whose memory a value of a training step is. Roles come from the names that trees give: an argument with a
// field `parameters` is an optimizer's state, so `parameters.…` are parameters and its other fields moments;
// `gradients.…` is what optim::step calls gradients. What has no such name is data.
#pragma once
#include <array>
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
std::string_view name_of(PeakRole role);

// Per input of the graph: parameters, moments or data.
std::vector<PeakRole> roles_of_inputs(const Graph& graph);

// Is the value called a gradient of a parameter?
bool is_gradient(const Graph& graph, ValueId value);

// Per node: is it of the forward pass? That is what outputs depend on that depend on no gradient: the loss,
// and what it returns besides. All are where nothing is called a gradient.
std::vector<bool> forward_nodes(const Graph& graph);

// Per value: is it a gradient of a parameter, or what such a one is made of by a kernel that never writes it
// as a whole: the terms of a sum that is part of the update, a matrix that is read transposed?
std::vector<bool> gradient_values(const Graph& graph, const Plan& plan, const std::vector<bool>& forward);

// Does an output depend on the gradients of several parameters?
bool mixes_gradients(const Graph& graph);

}  // namespace tidemark
