#include "tidemark/plan/plan.h"

#include <algorithm>

namespace tidemark {

std::string_view name_of(Memory memory) {
  constexpr std::string_view names[] = {"bound", "arena", "result"};
  return names[static_cast<int>(memory)];
}

std::string_view name_of(Purpose purpose) {
  constexpr std::string_view names[] = {"input", "donated", "value", "output", "scratch"};
  return names[static_cast<int>(purpose)];
}

std::string_view name_of(StepKind kind) {
  constexpr std::string_view names[] = {"compute"};
  return names[static_cast<int>(kind)];
}

RegionFacts facts_of(const Plan& region) {
  RegionFacts facts{.arena_bytes = region.arena_bytes,
                    .flops = region.flops,
                    .bytes_moved = region.bytes_moved,
                    .seconds = region.seconds};
  for (const Ref& output : region.outputs) {
    const Buffer& buffer = region.buffers[output.buffer.index];
    facts.over.push_back(buffer.memory == Memory::bound ? static_cast<int>(buffer.offset) : -1);
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
