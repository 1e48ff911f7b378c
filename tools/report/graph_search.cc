#include "tools/report/graph_search.h"

#include <algorithm>

namespace tidemark::cli {
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
