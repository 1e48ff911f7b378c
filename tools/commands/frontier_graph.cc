#include <optional>

#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/frontier.h"
#include "tools/commands/frontier_command.h"
#include "tools/report/graph_search.h"
#include "tools/report/progress.h"

namespace tidemark::cli {

Frontier frontier_of_graph(const FrontierCommand& command) {
  SearchControl control(planning_control(command.effort.value));
  std::optional<Machine> machine;
  if (!command.machine.empty()) machine = load_machine(command.machine);
  const PlanOptions options{.machine = machine ? &*machine : nullptr,
                            .fixed_order = command.fixed_order,
                            .effort = command.effort.value.factor,
                            .control = &control};
  const std::vector<Plan> plans =
      frontier(prepare_graph(command.model.load()), cpu_target(), options, command.points);
  control.finish();
  Frontier curve{.unit = "s", .least_time = plans.back().least_seconds};
  for (const Plan& plan : plans) {
    curve.points.push_back({.budget = plan.budget,
                            .peak = plan.peak(),
                            .time = plan.seconds,
                            .bound = plan.seconds_bound,
                            .recomputed = repeats(plan)});
  }
  return curve;
}

}  // namespace tidemark::cli
