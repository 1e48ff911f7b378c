// Finish: the draft's decisions written out as steps on bytes, and the figures that go with them.
#include <algorithm>

#include "tidemark/plan/costs.h"
#include "tidemark/plan/passes/groups.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {

std::int64_t maximum_load(const std::vector<Buffer>& buffers, std::size_t steps, std::int64_t alignment) {
  std::vector<std::int64_t> change(steps + 1, 0);
  for (const Buffer& buffer : buffers) {
    if (buffer.binding != Binding::arena) continue;
    change[static_cast<std::size_t>(buffer.begin)] += align_up(buffer.bytes, alignment);
    change[static_cast<std::size_t>(buffer.end)] -= align_up(buffer.bytes, alignment);
  }
  std::int64_t load = 0, most = 0;
  for (std::int64_t c : change) most = std::max(most, load += c);
  return most;
}

Plan finish(const Draft& draft) {
  const Graph& graph = *draft.graph;
  const Target& target = *draft.target;
  Plan plan;
  plan.target = target.name;
  plan.alignment = target.alignment;
  plan.buffers = draft.buffers;
  plan.arena_bytes = draft.arena_bytes;
  plan.hints = draft.hints.reports;
  plan.binds_outputs = draft.binds_outputs;
  if (draft.regions) plan.bodies = draft.regions->bodies;

  Holders holders(graph.values().size());
  const auto ref = [&](ValueId v) {
    const Window& window = draft.windows[v.index];
    return Ref{
        .value = v, .buffer = holders[window.root], .offset = window.offset, .strides = window.strides};
  };
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i].value;
    holders.set(v, BufferId(i));  // liveness puts the inputs first
    plan.input_bytes += graph.type(v).bytes();
  }

  std::int64_t largest_scratch = 0;
  for (const Execution& run : draft.executions) {
    const Node& node = graph[run.node];
    holders.come_to(run);
    Step step{.kind = StepKind::compute,
              .node = run.node,
              .in = {},
              .out = {},
              .scratch = run.scratch,
              .group = run.group};
    for (ValueId v : node.operands) step.in.push_back(ref(v));
    for (std::size_t r = 0; r < node.results.size(); ++r) holders.set(run, node.results[r], run.buffers[r]);
    for (ValueId v : node.results) step.out.push_back(ref(v));
    if (run.scratch.valid()) {
      largest_scratch = std::max(largest_scratch, draft.buffers[run.scratch.index].bytes);
    }
    plan.steps.push_back(std::move(step));
  }
  holders.come_to({});
  for (ValueId v : graph.outputs()) plan.outputs.push_back(ref(v));

  for (const KernelCost& kernel : kernel_costs(graph, plan, target, *draft.machine)) {
    plan.flops += kernel.flops;
    plan.bytes_moved += kernel.bytes;
    plan.seconds += kernel.seconds;
    plan.least_seconds += kernel.first_seconds;
  }
  plan.duplicates = draft.duplicates;
  if (draft.duplicates.values > 0) plan.least_seconds = plan.seconds - draft.repeat_seconds;
  plan.seconds_bound = std::clamp(plan.least_seconds + draft.seconds_bound - draft.base_seconds,
                                  plan.least_seconds, plan.seconds);
  plan.lower_bound = plan.input_bytes + maximum_load(plan.buffers, plan.steps.size(), target.alignment);
  // The searches count outputs as part of the arena, which those of a region are not.
  plan.order_free_bound = plan.input_bytes + (draft.binds_outputs ? 0 : draft.order_free_bound);
  plan.store_all_bytes = plan.input_bytes + target.aligned(largest_scratch);
  for (const Node& node : graph.nodes()) {
    for (ValueId v : node.results) plan.store_all_bytes += target.aligned(graph.type(v).bytes());
  }
  return plan;
}

}  // namespace tidemark
