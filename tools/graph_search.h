// Plans of a graph with an effort in work units or in seconds.
#pragma once
#include "tidemark/plan/pipeline.h"
#include "tools/effort_option.h"

namespace tidemark::cli {

// try_plan with `options.effort` replaced. The report is that of the last round.
Result<Plan, Infeasible> plan_with_effort(const Graph& graph, PlanOptions options, const Effort& effort,
                                          PipelineReport* report = nullptr);

// The nodes in order of execution.
std::vector<NodeId> executions(const Plan& plan);
int repeats(const Plan& plan);  // runs beyond the first of each node

}  // namespace tidemark::cli
