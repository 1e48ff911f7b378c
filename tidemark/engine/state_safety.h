// Donated memory holds the caller's state, which must be as it was when a call fails. So no step of a plan
// that can still fail (ir/failure.h) may come behind one that writes there. Plans mostly have it so by
// themselves: what looks things up runs forward, updates come last. Where a plan does not, the inputs in
// question are planned for as if they were not donated: their updates get memory of their own, which the plan
// counts.
#pragma once
#include <vector>

#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/infeasible.h"

namespace tidemark {

// Donated inputs, by number, that are written when a step can still fail, be it the writer itself.
std::vector<std::size_t> inputs_at_risk(const Graph& graph, const Plan& plan);

// `make(graph)`, a plan of it, made again with fewer donated inputs until none is at risk. `plan_in` takes
// the plan out of what make returns; null: there is none.
template <class Make, class PlanIn>
auto make_safe(Graph& graph, const Make& make, const PlanIn& plan_in) {
  for (;;) {
    auto made = make(graph);
    const Plan* plan = plan_in(made);
    const std::vector<std::size_t> risk = plan ? inputs_at_risk(graph, *plan) : std::vector<std::size_t>();
    if (risk.empty()) return made;
    for (std::size_t i : risk) graph.inputs()[i].donated = false;
  }
}
template <class Make>
Plan make_safe(Graph& graph, const Make& make) {
  return make_safe(graph, make, [](const Plan& plan) { return &plan; });
}

// A safe plan within the budget, or the smallest safe one. `graph` loses what cannot be donated.
Result<Plan, Infeasible> plan_safely(Graph& graph, const PlanOptions& options);

}  // namespace tidemark
