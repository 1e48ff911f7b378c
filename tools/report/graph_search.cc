#include "tools/report/graph_search.h"

#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/several_steps.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/plan_target.h"

namespace tidemark::cli {

Result<Plan, Infeasible> plan_traced(const Graph& traced, const std::optional<Lossy>& lossy, Graph& graph,
                                     const PlanOptions& options, PipelineReport* report) {
  const bool same_within_budgets =
      !options.memory || (!loop_memory_range(traced).any && invertible_calls(traced) == 0);
  const bool one_graph = same_within_budgets && !has_steps_to_join(graph, target_of(options));
  if (!lossy && one_graph) return try_plan(graph, target_of(options), options, report);
  PlanWithValues found = plan_with_values(traced, lossy, {}, options);
  graph = std::move(found.graph);
  return std::move(found.plan);
}

}  // namespace tidemark::cli
