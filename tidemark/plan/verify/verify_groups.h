// The verifier's part on groups (Step::group): may these steps run as one kernel, tile by tile? Shares no
// code with the passes either.
#pragma once
#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// For a plan whose steps, one after the other, would be right.
void verify_groups(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems);

// Of the bytes that a step by itself would move, those that it does not because of its group: operands that
// are at hand, results that no memory is for.
double unmoved_bytes(const Graph& graph, const Plan& plan, std::size_t step);

}  // namespace tidemark
