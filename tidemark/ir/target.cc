#include "tidemark/ir/target.h"

#include <algorithm>

namespace tidemark {

std::string_view name_of(WorkKind work) {
  constexpr std::string_view names[work_count] = {
      "by_kind",   "elementwise", "reduction", "rows",   "contraction", "convolution",   "depthwise",
      "attention", "movement",    "indexed",   "random", "sort",        "factorization", "opaque"};
  return names[static_cast<int>(work)];
}

double bytes_moved(const Call& call) {
  double bytes = 0;
  for (const Type& type : call.in) bytes += static_cast<double>(type.bytes());
  for (const Type& type : call.out) bytes += static_cast<double>(type.bytes());
  return bytes;
}

Cost plain_cost(const Call& call) {
  Cost cost{.bytes = bytes_moved(call)};
  if (call.op->kind == OpKind::movement) return cost;
  for (const Type& type : call.out) cost.flops += static_cast<double>(type.count());
  return cost;
}

std::int64_t region_arena(const Call& call) {
  std::int64_t most = 0;
  for (const RegionFacts& region : call.planned) most = std::max(most, region.arena_bytes);
  return align_up(most, buffer_alignment);
}

namespace {

WorkKind work_of(OpKind kind) {
  switch (kind) {
    case OpKind::elementwise:
      return WorkKind::elementwise;
    case OpKind::reduction:
      return WorkKind::reduction;
    case OpKind::contraction:
      return WorkKind::contraction;
    case OpKind::movement:
      return WorkKind::movement;
    case OpKind::random:
      return WorkKind::random;
    case OpKind::composite:
      return WorkKind::rows;
    case OpKind::control:
    case OpKind::effect:
    case OpKind::opaque:
      break;
  }
  return WorkKind::opaque;
}

const ExecutionFacts& facts_on(const Target& target, const Op& op) {
  static constexpr ExecutionFacts none = {};
  const ExecutionFacts* facts = target.find(op);
  return facts ? *facts : none;
}

}  // namespace

Cost Target::cost(const Call& call) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  Cost cost = facts.cost ? facts.cost(call) : plain_cost(call);
  if (cost.work == WorkKind::by_kind) cost.work = work_of(call.op->kind);
  return cost;
}

std::int64_t Target::scratch(const Call& call) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  return region_arena(call) + (facts.scratch ? facts.scratch(call) : 0);
}

bool Target::may_overwrite(const Call& call, int result, int operand) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  return facts.in_place && facts.in_place(call, result, operand);
}

bool Target::takes_strides(const Call& call, int operand) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  return facts.strided && facts.strided(call, operand);
}

Fusion Target::fusion(const Call& call) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  return facts.fusion ? facts.fusion(call) : Fusion::none;
}

HostReads Target::host_reads(const Call& call) const {
  const ExecutionFacts& facts = facts_on(*this, *call.op);
  return facts.host_reads ? facts.host_reads(call) : HostReads{};
}

}  // namespace tidemark
