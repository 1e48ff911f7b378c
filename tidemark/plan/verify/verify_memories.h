// The verifier's part on what a plan runs on: its target, its memories and its lanes.
#pragma once
#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// Facts of another target say nothing about this plan.
void verify_target(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems);

// Alignments and figures of the memories, the lanes, and the lane and the waits of every step.
void verify_memories(const Plan& plan, ProblemList& problems);

}  // namespace tidemark
