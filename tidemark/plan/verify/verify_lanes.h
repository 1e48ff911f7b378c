// The part of the verifier that knows of lanes: whatever one lane does while another runs must not matter.
#pragma once
#include <span>
#include <utility>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// Reports accesses to the same bytes that are not ordered, at least one of them a write, and effects that are
// not ordered. For a plan whose references, lanes and waits are sound; `effects` are pairs of steps that must
// act on the world one after the other.
void verify_lanes(const Plan& plan, std::span<const std::pair<std::size_t, std::size_t>> effects,
                  ProblemList& problems);

}  // namespace tidemark
