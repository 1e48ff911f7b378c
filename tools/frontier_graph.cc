#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/engine/program.h"
#include "tidemark/plan/frontier.h"
#include "tidemark/plan/machine.h"
#include "tools/frontier_command.h"
#include "tools/graph_search.h"

namespace tidemark::cli {

Frontier frontier_of_graph(const FrontierCommand& command) {
  if (command.effort.seconds)
    fail(ErrorCode::bad_plan_option,
         {.what = "--effort in seconds has no effect on the frontier of a graph of operations",
          .expected = "quick, normal or best"});
  std::optional<Machine> machine;
  if (!command.machine.empty()) machine = load_machine(command.machine);
  const PlanOptions options{.machine = machine ? &*machine : nullptr,
                            .fixed_order = command.fixed_order,
                            .effort = command.effort.scale};
  const std::vector<Plan> plans = frontier(prepare_graph(command.model.load()), options, command.points);
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
