// What else could have become of the values of an explanation, each as a plan of its own, and why this plan
// does not do it.
#pragma once
#include <vector>

#include "tidemark/plan/passes/plan_options.h"
#include "tidemark/plan/report/explain.h"
#include "tidemark/plan/report/explain_values.h"

namespace tidemark {

// `regions`: of the plan that is explained, as the explanation lists them; `options`: what it was planned
// with. `force`: alternatives are planned, else edited.
void add_alternatives(Explanation& explanation, const std::vector<PlannedRegion>& regions,
                      const PlanOptions& options, bool force);

// The graph with a hint more, on a value of one of its regions: an alternative that is planned is its plan.
Graph with_hint(const Graph& graph, const std::vector<std::uint32_t>& path, ValueId value, HintKind kind);

}  // namespace tidemark
