#include "tools/graph_search.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tidemark::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const Plan& plan_in(const Result<Plan, Infeasible>& result) {
  return result ? result.value() : result.error().smallest;
}

// What fits is better the faster it is; then, and where nothing fits, the smaller.
bool better(const Result<Plan, Infeasible>& a, const Result<Plan, Infeasible>& b) {
  if (a.ok() != b.ok()) return a.ok();
  const Plan &p = plan_in(a), &q = plan_in(b);
  if (a.ok() && p.seconds != q.seconds) return p.seconds < q.seconds;
  return p.peak() < q.peak();
}

}  // namespace

// Given seconds, rounds of doubling work, each warm from the best so far, the next one only if time is left for it.
Result<Plan, Infeasible> plan_with_effort(const Graph& graph, PlanOptions options, const Effort& effort,
                                          PipelineReport* report) {
  options.effort = effort.scale;
  if (!effort.seconds) return try_plan(graph, options, report);
  const auto start = std::chrono::steady_clock::now();
  options.effort = 1.0 / 16;
  Result<Plan, Infeasible> best = try_plan(graph, options, report);
  double last = seconds_since(start);
  while (seconds_since(start) + 2 * last < *effort.seconds) {
    const bool proved = best && best.value().seconds <= best.value().seconds_bound * (1 + 1e-9);
    if (options.memory && proved) break;
    const double begin = seconds_since(start);
    options.effort *= 2;
    options.warm_start = executions(plan_in(best));
    Result<Plan, Infeasible> next = try_plan(graph, options, report);
    if (better(next, best)) best = std::move(next);
    last = seconds_since(start) - begin;
  }
  return best;
}

std::vector<NodeId> executions(const Plan& plan) {
  std::vector<NodeId> nodes;
  for (const Step& step : plan.steps) nodes.push_back(step.node);
  return nodes;
}

int repeats(const Plan& plan) {
  std::vector<NodeId> nodes = executions(plan);
  std::ranges::sort(nodes, {}, &NodeId::index);
  const auto rest = std::ranges::unique(nodes);
  return static_cast<int>(rest.size());
}

}  // namespace tidemark::cli
