// The verifier's part on groups (Step::group): may these steps run as one kernel, tile by tile? Shares no
// code with the passes either.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

// What is wrong with the groups of a plan whose steps, one after the other, would be right.
std::vector<std::string> group_problems(const Graph& graph, const Plan& plan, const Target& target);

// Of the bytes that a step by itself would move, those that it does not because of its group: operands that
// are at hand, results that no memory is for.
double unmoved_bytes(const Graph& graph, const Plan& plan, std::size_t step);

}  // namespace tidemark
