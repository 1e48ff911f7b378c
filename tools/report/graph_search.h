// Graphs of operations planned as `tidemark plan` does.
#pragma once
#include <optional>

#include "tidemark/engine/compile_options.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cli {

// `graph` is `traced` prepared; within a budget, what loops keep, what is undone and the forms in which
// values wait change it, and with one or without, how many steps stencils take at once.
Result<Plan, Infeasible> plan_traced(const Graph& traced, const std::optional<Lossy>& lossy, Graph& graph,
                                     const PlanOptions& options, PipelineReport* report = nullptr);

}  // namespace tidemark::cli
