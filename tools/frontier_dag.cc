#include "tidemark/base/check.h"
#include "tidemark/plan/dag_schedule.h"
#include "tools/dag_search.h"
#include "tools/frontier_command.h"

namespace tidemark::cli {
namespace {

FrontierPoint point_of(const Dag& dag, std::int64_t budget, const Sequence& schedule, double bound) {
  const ScheduleCheck check = check_schedule(dag, schedule);
  TM_CHECK(!check.fault && check.peak <= budget);
  return {
      .budget = budget, .peak = check.peak, .time = check.cost, .bound = bound, .recomputed = check.repeats};
}

}  // namespace

Frontier frontier_of_dag(const FrontierCommand& command) {
  const Dag dag = read_dag(command.model.model);
  const Sequence base = own_order(dag);
  RematProblem problem = problem_of(dag);
  problem.fixed_order = command.fixed_order;
  Frontier frontier{.unit = "cost", .least_time = problem.base_cost()};

  // Evenly from the lowest that is found up to what costs nothing extra. A schedule fits every larger budget too, so
  // a point never costs more than the one below it.
  const RematResult roomy = least_memory(problem, base, command.effort);
  const std::int64_t high = figures_of(problem, roomy.sequence).peak;
  problem.budget = roomy.memory_bound;
  Sequence schedule = cheapest_schedule(problem, base, command.effort).sequence;
  const std::int64_t low = figures_of(problem, schedule).peak;
  const int steps = low < high ? command.points - 1 : 0;
  for (int k = 0; k < steps; ++k) {
    problem.budget = low + static_cast<std::int64_t>(static_cast<double>(high - low) * k / steps);
    RematResult found = cheapest_schedule(problem, base, command.effort, schedule);
    if (found.feasible && found.figures.cost <= figures_of(problem, schedule).cost)
      schedule = std::move(found.sequence);
    frontier.points.push_back(point_of(dag, problem.budget, schedule, found.time_bound));
  }
  frontier.points.push_back(point_of(dag, high, roomy.sequence, frontier.least_time));
  tighten_bounds(frontier.points);
  return frontier;
}

}  // namespace tidemark::cli
