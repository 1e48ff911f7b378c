#include "tools/report/graph_search.h"

#include <algorithm>

#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/plan_target.h"

namespace tidemark::cli {

Result<Plan, Infeasible> plan_traced(const Graph& traced, const std::optional<Lossy>& lossy, Graph& graph,
                                     const PlanOptions& options, PipelineReport* report) {
  const bool one_graph = !options.memory || (!loop_memory_range(traced).any && invertible_calls(traced) == 0);
  if (!lossy && one_graph) return try_plan(graph, target_of(options), options, report);
  PlanWithValues found = plan_with_values(traced, lossy, {}, options);
  graph = std::move(found.graph);
  return std::move(found.plan);
}

std::vector<NodeId> executions(const Plan& plan) {
  std::vector<NodeId> nodes;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::compute) nodes.push_back(step.node);
  }
  return nodes;
}

int repeats(const Plan& plan) {
  std::vector<NodeId> nodes = executions(plan);
  std::ranges::sort(nodes, {}, &NodeId::index);
  const auto rest = std::ranges::unique(nodes);
  return static_cast<int>(rest.size()) - plan.duplicates.steps;
}

}  // namespace tidemark::cli
