// The part of the verifier that knows of lanes: whatever one lane does while another runs must not matter.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

// Accesses to the same bytes that are not ordered, at least one of them a write, and effects that are not
// ordered. For a plan whose references, lanes and waits are sound; `effects` are pairs of steps that must act
// on the world one after the other.
std::vector<std::string> lane_problems(const Plan& plan,
                                       std::span<const std::pair<std::size_t, std::size_t>> effects);

}  // namespace tidemark
