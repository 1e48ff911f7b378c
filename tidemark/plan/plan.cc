#include "tidemark/plan/plan.h"

#include <algorithm>

#include "tidemark/ir/op.h"

namespace tidemark {

bool is_in_place(const Plan& plan, std::size_t step, const Ref& out) {
  const auto reads = [&](const Step& s) {
    return std::ranges::any_of(s.in, [&](const Ref& in) { return in.buffer == out.buffer; });
  };
  const std::int32_t group = plan.steps[step].group;
  for (std::size_t t = step;; --t) {
    if (reads(plan.steps[t])) return true;
    if (t == 0 || group < 0 || plan.steps[t - 1].group != group) return false;
  }
}

std::size_t group_end(const Plan& plan, std::size_t step) {
  const std::int32_t group = plan.steps[step++].group;
  while (group >= 0 && step < plan.steps.size() && plan.steps[step].group == group) ++step;
  return step;
}

std::size_t kernel_count(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < plan.steps.size(); t = group_end(plan, t)) ++count;
  return count;
}

std::string_view name_of(Binding binding) {
  constexpr std::string_view names[] = {"argument", "arena", "result", "tile"};
  return names[static_cast<int>(binding)];
}

std::string_view name_of(Purpose purpose) {
  constexpr std::string_view names[] = {"input", "donated", "value", "output", "scratch"};
  return names[static_cast<int>(purpose)];
}

std::string_view name_of(StepKind kind) {
  constexpr std::string_view names[] = {"compute", "copy", "encode", "decode", "fetch"};
  return names[static_cast<int>(kind)];
}

std::size_t memory_count(const Plan& plan) { return 1 + plan.further.size(); }

PlanMemory memory_of(const Plan& plan, std::size_t memory) {
  if (memory > 0) return plan.further[memory - 1];
  return {.name = std::string(first_memory_name),
          .alignment = plan.alignment,
          .input_bytes = plan.input_bytes,
          .arena_bytes = plan.arena_bytes,
          .lower_bound = plan.lower_bound,
          .budget = plan.budget};
}

bool is_plain(const Plan& plan) {
  return plan.further.empty() && plan.lanes.size() == 1 &&
         std::ranges::all_of(plan.steps, [](const Step& step) { return step.kind == StepKind::compute; });
}

RegionFacts facts_of(const Plan& region) {
  RegionFacts facts{.arena_bytes = region.arena_bytes,
                    .flops = region.flops,
                    .bytes_moved = region.bytes_moved,
                    .seconds = region.seconds};
  for (const Ref& output : region.outputs) {
    const Buffer& buffer = region.buffers[output.buffer.index];
    facts.over.push_back(buffer.binding == Binding::argument ? buffer.slot : -1);
  }
  return facts;
}

std::vector<RegionFacts> region_facts(const Plan& plan, NodeId node) {
  std::vector<RegionFacts> facts;
  const auto found = std::ranges::find(plan.bodies, node, &NodePlans::node);
  if (found == plan.bodies.end()) return facts;
  for (const Plan& region : found->regions) facts.push_back(facts_of(region));
  return facts;
}

}  // namespace tidemark
