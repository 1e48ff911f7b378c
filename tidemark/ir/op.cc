#include "tidemark/ir/op.h"

#include <algorithm>

#include "tidemark/base/bytes.h"

namespace tidemark {

std::string_view name_of(OpKind kind) {
  constexpr std::string_view names[] = {"elementwise", "reduction", "contraction", "movement", "random",
                                        "control",     "effect",    "opaque",      "composite"};
  return names[static_cast<int>(kind)];
}

std::string_view name_of(WorkKind work) {
  constexpr std::string_view names[work_count] = {
      "by_kind",   "elementwise", "reduction", "rows",   "contraction", "convolution",   "depthwise",
      "attention", "movement",    "indexed",   "random", "sort",        "factorization", "opaque"};
  return names[static_cast<int>(work)];
}

std::string_view name_of(Replay replay) {
  constexpr std::string_view names[] = {"exact", "seeded", "never"};
  return names[static_cast<int>(replay)];
}

double bytes_moved(const Call& call) {
  double bytes = 0;
  for (const Type& type : call.in) bytes += static_cast<double>(type.bytes());
  for (const Type& type : call.out) bytes += static_cast<double>(type.bytes());
  return bytes;
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

Cost plain_cost(const Call& call) {
  Cost cost{.bytes = bytes_moved(call)};
  if (call.op->kind == OpKind::movement) return cost;
  for (const Type& type : call.out) cost.flops += static_cast<double>(type.count());
  return cost;
}

}  // namespace

Cost cost_of(const Call& call) {
  Cost cost = call.op->cost ? call.op->cost(call) : plain_cost(call);
  if (cost.work == WorkKind::by_kind) cost.work = work_of(call.op->kind);
  return cost;
}

std::int64_t region_arena(const Call& call) {
  std::int64_t most = 0;
  for (const RegionFacts& region : call.planned) most = std::max(most, region.arena_bytes);
  return align_up(most, buffer_alignment);
}

std::int64_t scratch_of(const Call& call) {
  return region_arena(call) + (call.op->scratch ? call.op->scratch(call) : 0);
}

bool may_overwrite(const Call& call, int result, int operand) {
  return call.op->in_place && call.op->in_place(call, result, operand);
}

Fusion fusion_of(const Call& call) { return call.op->fusion ? call.op->fusion(call) : Fusion::none; }

}  // namespace tidemark
