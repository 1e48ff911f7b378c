// A schedule of a spill problem as a plan: the kernels of the plain plan with copies and codes between them,
// on lanes of their own, with the waits that the schedule asks for. Buffers have no addresses yet.
#pragma once
#include "tidemark/plan/spill/problem.h"

namespace tidemark {

Plan rewritten(const Graph& graph, const Plan& plain, const SpillProblem& problem,
               const JointSchedule& schedule, const std::vector<Tier>& tiers);

}  // namespace tidemark
