#include "tools/report/dag_search.h"

#include <algorithm>
#include <numeric>

#include "tidemark/solve/order/search.h"
#include "tidemark/solve/remat/bound.h"
#include "tools/report/progress.h"

namespace tidemark::cli {
namespace {

bool better(const RematResult& a, const RematResult& b) {
  if (a.feasible != b.feasible) return a.feasible;
  return a.feasible ? a.figures.cost < b.figures.cost : a.figures.peak < b.figures.peak;
}

// Nothing is left to find: proved cheapest, or proved that nothing smaller exists.
bool is_final(const RematResult& result) {
  return result.optimal || (!result.feasible && result.figures.peak <= result.memory_bound);
}

// A schedule in the file's order is one in any order too, and some are found more easily there.
RematResult or_in_given_order(RematResult found, const RematProblem& problem, const Sequence& base,
                              RematLimits limits) {
  if (problem.fixed_order || is_final(found)) return found;
  RematProblem fixed = problem;
  fixed.fixed_order = true;
  limits.units /= 4;
  RematResult other = solve_remat(fixed, base, limits);
  found.work_units += other.work_units;
  add_to_log(found.solvers, other.solvers);
  if (!better(other, found)) return found;
  found.sequence = std::move(other.sequence);  // the bounds stay those of any order
  found.figures = other.figures;
  found.feasible = other.feasible;
  return found;
}

}  // namespace

Sequence own_order(const Dag& dag) {
  Sequence order(static_cast<std::size_t>(dag.size()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Given seconds, rounds of doubling work until time is up; what the last one has found by then counts.
RematResult cheapest_schedule(const RematProblem& problem, const Sequence& base, const Effort& effort,
                              std::span<const int> warm, const SolverChoice& solvers) {
  SearchControl control(planning_control(effort));
  RematLimits units = remat_limits(problem.model.tasks, effort.factor);
  units.search_order = true;
  units.solvers = solvers;
  units.control = &control;
  control.enter("budget", 2 * units.units);
  if (effort.seconds) units.units /= 16;
  RematResult best = or_in_given_order(solve_remat(problem, base, units, warm), problem, base, units);
  while (effort.seconds && !is_final(best) && !control.time_is_up()) {
    units.units *= 2;
    RematResult next = solve_remat(problem, base, units, best.sequence);
    const double time_bound = std::max(best.time_bound, next.time_bound);
    const std::int64_t memory_bound = std::max(best.memory_bound, next.memory_bound);
    const std::int64_t work = best.work_units + next.work_units;
    SolverLog log = std::move(best.solvers);
    add_to_log(log, next.solvers);
    if (better(next, best)) best = std::move(next);
    best.time_bound = time_bound;
    best.memory_bound = memory_bound;
    best.work_units = work;
    best.solvers = std::move(log);
  }
  control.finish();
  return best;
}

RematResult least_memory(const RematProblem& problem, const Sequence& base, const Effort& effort) {
  SearchControl control(planning_control(effort));
  Work work{remat_limits(problem.model.tasks, effort.factor).units, &control};
  const std::int64_t units = work.left;
  RematResult result;
  result.sequence = problem.fixed_order ? base : best_order(problem.model, 0, work);
  result.time_bound = problem.base_cost();
  result.memory_bound = memory_bound(problem);
  result.work_units = units - work.left;
  control.finish();
  return result;
}

}  // namespace tidemark::cli
