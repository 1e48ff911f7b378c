#include "tidemark/plan/report/frontier.h"

#include <map>
#include <optional>

namespace tidemark {
namespace {

struct PlanPoint {
  Plan plan;
  std::int64_t peak() const { return plan.peak(); }
  double time() const { return plan.seconds; }
};

std::optional<PlanPoint> plan_within(const Graph& graph, const Target& target, PlanOptions options,
                                     std::int64_t budget, const Plan& neighbour) {
  options.memory = budget;
  if (options.tiers.empty()) options.warm_start = executions_of(neighbour);
  Result<Plan, Infeasible> planned = try_plan(graph, target, options);
  if (!planned) return {};
  return PlanPoint{std::move(planned).value()};
}

}  // namespace

std::vector<NodeId> executions_of(const Plan& plan) {
  std::vector<NodeId> nodes;
  nodes.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::compute) nodes.push_back(step.node);
  }
  return nodes;
}

Plan smallest_plan(const Graph& graph, const Target& target, const PlanOptions& options) {
  PlanOptions nothing = options;
  nothing.memory = 0;
  nothing.warm_start.clear();
  Result<Plan, Infeasible> planned = try_plan(graph, target, nothing);
  Plan smallest = planned ? std::move(planned).value() : planned.error().smallest;
  if (!options.tiers.empty()) {
    // The lowest is looked for whatever it costs. Within it time counts again, and what was computed again
    // may wait elsewhere.
    nothing.memory = smallest.peak();
    nothing.floor = false;
    Result<Plan, Infeasible> faster = try_plan(graph, target, nothing);
    if (faster && faster.value().seconds < smallest.seconds) {
      const std::int64_t budget = smallest.peak();
      smallest = std::move(faster).value();
      smallest.budget = budget;
      return smallest;
    }
  }
  smallest.budget = smallest.peak();
  return smallest;
}

std::vector<Plan> frontier(const Graph& graph, const Target& target, const PlanOptions& options, int points) {
  PlanOptions roomy = options;
  roomy.memory.reset();
  roomy.warm_start.clear();
  const auto part = [&](const auto& plan) {  // of the time, if that is limited
    const TimeShare time(options.control, 2.0 / (points + 2));
    return plan();
  };
  PlanPoint top{part([&] { return make_plan(graph, target, roomy); })};
  PlanPoint floor{part([&] { return smallest_plan(graph, target, options); })};
  int left = std::max(1, points - 2);
  const double nothing_again = top.plan.least_seconds;
  std::map<std::int64_t, double> bounds = {{floor.peak(), floor.plan.seconds_bound},
                                           {top.peak(), nothing_again}};
  auto curve = walk_frontier(
      std::move(floor), std::move(top), points, [&](std::int64_t budget, const PlanPoint& neighbour) {
        const TimeShare time(options.control, 1.0 / std::max(1, left--));
        std::optional<PlanPoint> found = plan_within(graph, target, options, budget, neighbour.plan);
        bounds[budget] = found ? found->plan.seconds_bound : nothing_again;
        return found;
      });
  std::vector<Plan> plans;
  double bound = nothing_again;  // a bound of the time holds for every smaller budget too
  for (std::size_t i = curve.size(); i-- > 0;) {
    auto& [budget, point] = curve[i];
    bound = std::max(bound, bounds[budget]);
    point.plan.budget = budget;
    point.plan.seconds_bound = std::min(point.plan.seconds, bound);
    plans.push_back(std::move(point.plan));
  }
  std::ranges::reverse(plans);
  return plans;
}

}  // namespace tidemark
