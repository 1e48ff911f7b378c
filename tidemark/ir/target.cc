#include "tidemark/ir/target.h"

#include <algorithm>

namespace tidemark {

// Transitional: the facts are still the op's.
ExecutionFacts Target::facts(const Op& op) const {
  return {.cost = op.cost,
          .scratch = op.scratch,
          .in_place = op.in_place,
          .strided = op.strided,
          .fusion = op.fusion};
}

bool Target::runs(const Op&) const { return true; }

Cost Target::cost(const Call& call) const { return cost_of(call); }

std::int64_t Target::region_arena(const Call& call) const {
  std::int64_t most = 0;
  for (const RegionFacts& region : call.planned) most = std::max(most, region.arena_bytes);
  return aligned(most);
}

std::int64_t Target::scratch(const Call& call) const {
  const ExecutionFacts f = facts(*call.op);
  return region_arena(call) + (f.scratch ? f.scratch(call) : 0);
}

bool Target::may_overwrite(const Call& call, int result, int operand) const {
  const ExecutionFacts f = facts(*call.op);
  return f.in_place && f.in_place(call, result, operand);
}

bool Target::takes_strides(const Call& call, int operand) const {
  const ExecutionFacts f = facts(*call.op);
  return f.strided && f.strided(call, operand);
}

Fusion Target::fusion(const Call& call) const {
  const ExecutionFacts f = facts(*call.op);
  return f.fusion ? f.fusion(call) : Fusion::none;
}

HostReads Target::host_reads(const Call& call) const {
  const ExecutionFacts f = facts(*call.op);
  return f.host_reads ? f.host_reads(call) : HostReads{};
}

}  // namespace tidemark
