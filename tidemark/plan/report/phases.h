// Which part of a training step a node belongs to, and which values are gradients: the one place that says
// so, for summaries, explanations, pages and formulas. What reverse mode wrote is marked (Node::backward), as
// are the inputs that it was asked about; all else follows from who reads what. A graph without marks is all
// forward.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

// forward: what the backward pass is of, and whatever no gradient and no update has to do with. update: what
// depends on gradients, and what is computed for that alone, such as a rate. Where a step has two derivatives
// in turn, what the second one is of is forward, whatever it depends on.
enum class Phase : std::uint8_t { forward, backward, update };
std::vector<Phase> phases_of(const Graph& graph);  // per node

// Per value: does it leave the backward pass, for the caller or an update?
std::vector<bool> gradients_of(const Graph& graph);
// Or is it what such a one is made of by a kernel that never writes it as a whole: the terms of a sum that is
// part of the update, a matrix that is read transposed?
std::vector<bool> gradient_values(const Graph& graph, const Plan& plan);

// Per step: is it of the forward pass? Rules also write nodes that read no gradient, a mask or a slope: those
// that run before the forward pass is over count to it. What runs again does not.
std::vector<bool> forward_steps(const Graph& graph, const Plan& plan);

}  // namespace tidemark
