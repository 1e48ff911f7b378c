#include <map>

#include "tidemark/base/check.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/solve/dag/schedule.h"
#include "tools/commands/frontier_command.h"
#include "tools/report/dag_search.h"

namespace tidemark::cli {
namespace {

struct Scheduled {
  Sequence schedule;
  ScheduleCheck figures;
  std::int64_t peak() const { return figures.peak; }
  double time() const { return figures.cost; }
};

Scheduled judged(const Dag& dag, Sequence schedule) {
  ScheduleCheck figures = check_schedule(dag, schedule);
  TM_CHECK(!figures.fault, "{}", *figures.fault);
  return {std::move(schedule), std::move(figures)};
}

}  // namespace

Frontier frontier_of_dag(const FrontierCommand& command) {
  const Dag dag = read_dag(command.model.model);
  const Sequence base = own_order(dag);
  RematProblem problem = problem_of(dag);
  problem.fixed_order = command.fixed_order;
  const double least_cost = problem.base_cost();

  const RematResult roomy = least_memory(problem, base, command.effort.value);
  problem.budget = roomy.memory_bound;
  const RematResult lowest = cheapest_schedule(problem, base, command.effort.value);
  std::map<std::int64_t, double> bounds;
  const auto solve = [&](std::int64_t budget, const Scheduled& neighbour) -> std::optional<Scheduled> {
    problem.budget = budget;
    RematResult found = cheapest_schedule(problem, base, command.effort.value, neighbour.schedule);
    bounds[budget] = found.feasible ? found.time_bound : least_cost;
    if (!found.feasible) return {};
    return judged(dag, std::move(found.sequence));
  };
  // The lowest peak was looked for whatever it costs; within it, cost counts again.
  Scheduled floor = judged(dag, lowest.sequence);
  if (std::optional<Scheduled> cheaper = solve(floor.peak(), floor);
      cheaper && cheaper->time() < floor.time())
    floor = std::move(*cheaper);

  Frontier curve{.unit = "cost", .least_time = least_cost};
  for (auto& [budget, point] :
       walk_frontier(std::move(floor), judged(dag, roomy.sequence), command.points, solve)) {
    const auto bound = bounds.find(budget);
    curve.points.push_back({.budget = budget,
                            .peak = point.peak(),
                            .time = point.time(),
                            .bound = bound == bounds.end() ? least_cost : bound->second,
                            .recomputed = point.figures.repeats});
  }
  tighten_bounds(curve.points);
  return curve;
}

}  // namespace tidemark::cli
