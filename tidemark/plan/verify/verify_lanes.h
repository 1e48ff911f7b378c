// The part of the verifier that knows of lanes: whatever one lane does while another runs must not matter.
#pragma once
#include <span>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// Reports accesses to the same bytes that are not ordered, at least one of them a write, and effects that are
// not ordered. For a plan whose references, lanes and waits are sound; `effects` are its steps that act on
// the world, as listed.
void verify_lanes(const Plan& plan, std::span<const std::size_t> effects, ProblemList& problems);

}  // namespace tidemark
