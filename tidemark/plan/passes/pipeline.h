// From a graph to a verified plan: runs the passes of pipeline.cc, times them, and lets the caller skip or
// watch them.
#pragma once
#include <vector>

#include "tidemark/base/pass_driver.h"
#include "tidemark/base/result.h"
#include "tidemark/plan/passes/draft.h"
#include "tidemark/plan/passes/plan_options.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/infeasible.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {

struct PipelineReport {
  std::vector<PassReport> passes;  // in the order they run, `verify` last; rounds add up
  SolverLog
      solvers;  // what those of remat did, over all budgets that it was aimed at; empty: it never searched
};

// The passes in order.
std::vector<PassInfo> pass_list();

// The plan has passed the verifier. Throws Error for an unknown name in `skip`.
Result<Plan, Infeasible> try_plan(const Graph& graph, const Target& target, const PlanOptions& options = {},
                                  PipelineReport* report = nullptr);
// The same, throwing InfeasibleBudget (infeasible.h) where no plan fits.
Plan make_plan(const Graph& graph, const Target& target, const PlanOptions& options = {},
               PipelineReport* report = nullptr);

}  // namespace tidemark
