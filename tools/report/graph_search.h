// What a plan runs.
#pragma once
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cli {

// The nodes in order of execution.
std::vector<NodeId> executions(const Plan& plan);
int repeats(const Plan& plan);  // runs beyond the first of each node, for want of memory

}  // namespace tidemark::cli
