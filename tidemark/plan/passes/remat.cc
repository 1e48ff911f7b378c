// Remat: what runs again, so that the load stays within the budget at the least predicted time. Written as a
// problem of tasks and items (draft_model.h), solved (solve/remat/solve.cc), and read back as executions.
#include <algorithm>
#include <numeric>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/solve/remat/moments.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

// The executions of a warm start as a sequence of tasks; empty when it does not belong to this draft.
Sequence sequence_of(const Draft& draft, const RematProblem& problem, const std::vector<NodeId>& nodes) {
  std::vector<int> task_of(draft.graph->nodes().size(), -1);
  for (std::size_t t = 0; t < draft.executions.size(); ++t) {
    int& task = task_of[draft.executions[t].node.index];
    if (task >= 0) return {};  // hints ask for repeats of their own: nodes do not name tasks
    task = static_cast<int>(t);
  }
  Sequence sequence;
  sequence.reserve(nodes.size());
  for (NodeId node : nodes) {
    if (node.index >= task_of.size()) return {};  // of a graph whose loops are lowered in another way
    sequence.push_back(task_of[node.index]);
  }
  return is_valid_sequence(problem, sequence) ? sequence : Sequence{};
}

// The search takes every run for a kernel of its own. What may be part of another's is left out of the bound.
double seconds_bound(const Draft& draft, const RematProblem& problem, const RematResult& result) {
  constexpr std::int64_t visits_a_unit = 10;  // of some 5 nanoseconds: a twentieth of the effort
  const std::vector<bool> joins = may_join(draft);
  if (std::ranges::count(joins, true) == 0) return result.time_bound;
  return problem.base_cost() + repeats_at_moments(problem, visits_a_unit * draft.remat_share.units, joins);
}

}  // namespace

Draft remat(Draft draft) {
  RematProblem problem = remat_problem_of(draft, *draft.machine);
  draft.base_seconds = draft.seconds_bound = draft.search_seconds = problem.base_cost();
  draft.fits = true;
  if (draft.arena_budget < 0) return draft;
  problem.budget = draft.arena_budget;
  problem.fixed_order = draft.order_is_given;
  Sequence start(draft.executions.size());
  std::iota(start.begin(), start.end(), 0);
  const RematLimits limits{.units = draft.remat_share.units,
                           .floor_units = draft.remat_share.floor_units,
                           .solvers = draft.solvers,
                           .memory = draft.remat_share.memory,
                           .control = draft.control};
  const RematResult result =
      solve_remat(problem, start, limits, sequence_of(draft, problem, draft.warm_start));
  draft.work_units += result.work_units;
  if (draft.solver_log) add_to_log(*draft.solver_log, result.solvers);
  draft.fits = result.feasible;
  draft.search_seconds = result.figures.cost;
  draft.seconds_bound = seconds_bound(draft, problem, result);
  draft.load_bound = result.memory_bound;
  // With recomputation other bounds hold than without.
  // The problem takes the runs that hints ask for as tasks with results of their own, and so may count a
  // value twice: then only the bound that the hints came with is sure.
  const bool hinted = std::ranges::any_of(draft.executions, &Execution::required);
  if (result.sequence.size() > start.size() && !hinted) draft.order_free_bound = result.memory_bound;

  std::vector<Execution> executions;
  executions.reserve(result.sequence.size());
  for (int t : result.sequence)
    executions.push_back({.node = draft.executions[static_cast<std::size_t>(t)].node});
  draft.executions = std::move(executions);
  return draft;
}

}  // namespace tidemark
