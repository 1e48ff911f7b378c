// The verifier's part on plans that nest: every node with regions has a right plan for each of them.
#pragma once
#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

void verify_bodies(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems);

}  // namespace tidemark
