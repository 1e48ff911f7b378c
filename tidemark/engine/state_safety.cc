#include "tidemark/engine/state_safety.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "tidemark/engine/plan_target.h"
#include "tidemark/ir/failure.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {

std::vector<std::size_t> inputs_at_risk(const Graph& graph, const Plan& plan) {
  std::vector<bool> ran(graph.nodes().size(), false);
  std::set<std::tuple<std::uint32_t, std::int64_t, std::optional<std::int64_t>>> passed;
  std::set<std::size_t> written, risk;
  for (const Step& step : plan.steps) {
    // Copies write no argument. One that fails is the machine's failure, not the data's.
    if (step.kind != StepKind::compute) continue;
    const Node& node = graph[step.node];
    const Failure failure = failure_of(NodeCall(graph, node));
    bool can_fail =
        failure.when != Fails::never && !ran[step.node.index];  // what succeeded once does so again
    if (failure.check) {
      const ValueId checked = node.operands[static_cast<std::size_t>(failure.check->operand)];
      can_fail &= passed.emplace(checked.index, failure.check->bound, failure.check->except).second;
    }
    ran[step.node.index] = true;
    if (can_fail) risk.insert(written.begin(), written.end());
    for (const Ref& out : step.out) {
      const Buffer& buffer = plan.buffers[out.buffer.index];
      if (buffer.binding != Binding::argument) continue;
      written.insert(static_cast<std::size_t>(buffer.slot));
      if (can_fail && failure.when == Fails::late) risk.insert(static_cast<std::size_t>(buffer.slot));
    }
  }
  return {risk.begin(), risk.end()};
}

namespace {

const Plan* plan_of(const Result<Plan, Infeasible>& found) {
  return found ? &found.value() : &found.error().smallest;
}

struct SafePlan {
  Graph graph;
  Plan plan;
};
// Looked for from the start, whatever the budget: it puts other inputs at risk, and may do with fewer that
// get memory of their own. A search that cannot meet its budget comes by another, now and then a smaller
// one.
SafePlan smallest_safe_plan(const Graph& given, const PlanOptions& options) {
  SafePlan lowest{given, {}}, tried = lowest;
  lowest.plan =
      make_safe(lowest.graph, [&](const Graph& g) { return smallest_plan(g, target_of(options), options); });
  PlanOptions none = options;
  none.memory = 1;
  none.floor = false;
  const Result<Plan, Infeasible> found = make_safe(
      tried.graph, [&](const Graph& g) { return try_plan(g, target_of(none), none); }, plan_of);
  tried.plan = *plan_of(found);
  return tried.plan.peak() < lowest.plan.peak() ? std::move(tried) : std::move(lowest);
}

}  // namespace

Result<Plan, Infeasible> plan_safely(Graph& graph, const PlanOptions& options) {
  const bool donates = std::ranges::any_of(graph.inputs(), [](const Input& input) { return input.donated; });
  if (!donates || !options.memory)
    return make_safe(
        graph, [&](const Graph& g) { return try_plan(g, target_of(options), options); }, plan_of);
  const Graph given = graph;
  PlanOptions enough = options;
  enough.floor = false;
  Result<Plan, Infeasible> planned = make_safe(
      graph, [&](const Graph& g) { return try_plan(g, target_of(enough), enough); }, plan_of);
  if (planned || !options.floor) return planned;
  auto [least, smallest] = smallest_safe_plan(given, options);
  if (smallest.peak() >= planned.error().smallest.peak()) return planned;
  graph = std::move(least);
  if (smallest.peak() > *options.memory) return Infeasible{*options.memory, std::move(smallest)};
  smallest.budget = *options.memory;
  return smallest;
}

}  // namespace tidemark
