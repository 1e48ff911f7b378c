#include "tidemark/plan/verify/verify_memories.h"

#include "tidemark/ir/graph.h"
#include "tidemark/plan/verify/byte_range.h"

namespace tidemark {
namespace {

void verify_waits(const Plan& plan, std::size_t t, ProblemList& problems) {
  const Step& step = plan.steps[t];
  for (std::int32_t wait : step.waits) {
    if (wait < 0 || wait >= static_cast<std::int32_t>(t)) {
      problems.report("step {}: waits for step {}", t, wait);
    } else if (plan.steps[static_cast<std::size_t>(wait)].lane == step.lane) {
      problems.report("step {}: waits for step {} of its own lane", t, wait);
    }
  }
}

}  // namespace

void verify_target(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems) {
  if (plan.target != target.name)
    problems.report("made for the target `{}`, not for `{}`", plan.target, target.name);
  if (plan.alignment != target.alignment)
    problems.report("aligned to {} bytes, where the target asks for {}", plan.alignment, target.alignment);
  for (const Node& node : graph.nodes()) {
    if (!target.runs(*node.op))
      problems.report("{} cannot run on the target `{}`", node.op->name, target.name);
  }
}

void verify_memories(const Plan& plan, ProblemList& problems) {
  const auto memories = static_cast<std::int32_t>(memory_count(plan));
  for (std::size_t m = 1; m < memory_count(plan); ++m) {
    const PlanMemory& memory = plan.further[m - 1];
    if (memory.alignment < 1 || memory.alignment > absurd_bytes)
      problems.report("memory {}: alignment {}", m, memory.alignment);
    if (memory.input_bytes > absurd_bytes || memory.arena_bytes > absurd_bytes ||
        memory.lower_bound > absurd_bytes)
      problems.report("memory {}: figures beyond all memory", m);
  }
  if (plan.lanes.empty()) problems.report("no lanes");
  for (const Lane& lane : plan.lanes) {
    if (lane.memory < 0 || lane.memory >= memories)
      problems.report("lane {}: no memory {}", lane.name, lane.memory);
  }
  for (std::size_t t = 0; t < plan.steps.size() && !problems.full(); ++t) {
    const std::int32_t lane = plan.steps[t].lane;
    if (lane < 0 || lane >= static_cast<std::int32_t>(plan.lanes.size())) {
      problems.report("step {}: no lane {}", t, lane);
    } else {
      verify_waits(plan, t, problems);
    }
  }
}

}  // namespace tidemark
