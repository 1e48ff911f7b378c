#include "tidemark/plan/verify/verify_figures.h"

#include <algorithm>
#include <cmath>

#include "tidemark/plan/step_call.h"
#include "tidemark/plan/verify/byte_range.h"
#include "tidemark/plan/verify/verify_groups.h"

namespace tidemark {
namespace {

void verify_memory(const Plan& plan, std::size_t m, std::int64_t highest_load, ProblemList& problems) {
  const PlanMemory memory = memory_of(plan, m);
  std::int64_t inputs = 0, top = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (static_cast<std::size_t>(buffer.memory) != m) continue;
    if (buffer.binding == Binding::argument) {
      inputs += buffer.bytes;
    } else if (buffer.binding == Binding::arena && buffer.bytes > 0) {
      top = std::max(top, align_up(buffer.offset + buffer.bytes, memory.alignment));
    }
  }
  const auto figure = [&](std::string_view name, std::int64_t said, std::int64_t found) {
    if (said != found) problems.report("{}: {} is {}, not {}", memory.name, name, found, said);
  };
  figure("input_bytes", memory.input_bytes, inputs);
  figure("arena_bytes", memory.arena_bytes, top);
  figure("lower_bound", memory.lower_bound, inputs + highest_load);
  if (memory.budget > 0 && memory.peak() > memory.budget)
    problems.report("{}: the peak is above the budget", memory.name);
}

void verify_work(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems) {
  double flops = 0, moved = 0;
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    if (plan.steps[t].kind != StepKind::compute) continue;
    const Cost cost = target.cost(StepCall(graph, plan, plan.steps[t]));
    flops += cost.flops;
    moved += std::max(0.0, cost.bytes - unmoved_bytes(graph, plan, t));
  }
  // Sums of fractions (a factorisation counts n³/3) depend on the order they are taken in.
  const auto differ = [](double a, double b) { return !(std::abs(a - b) <= 1e-12 * std::abs(a)); };
  if (differ(flops, plan.flops)) problems.report("flops are {}, not {}", flops, plan.flops);
  if (differ(moved, plan.bytes_moved)) problems.report("bytes_moved is {}, not {}", moved, plan.bytes_moved);
}

}  // namespace

void verify_figures(const Graph& graph, const Plan& plan, const Target& target,
                    std::span<const std::int64_t> highest_load, ProblemList& problems) {
  if (plan.input_bytes > absurd_bytes || plan.arena_bytes > absurd_bytes)
    return problems.report("figures beyond all memory");
  for (std::size_t m = 0; m < memory_count(plan); ++m) verify_memory(plan, m, highest_load[m], problems);
  if (plan.order_free_bound > plan.lower_bound)
    problems.report("order_free_bound is above the load of this order");
  if (plan.store_all_bytes < plan.peak()) problems.report("store_all_bytes is below the peak");
  if (problems.empty()) verify_work(graph, plan, target, problems);
}

}  // namespace tidemark
