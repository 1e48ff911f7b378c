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
    case OpKind::opaque:
      break;
  }
  return WorkKind::opaque;
}

}  // namespace

// So large that what lies beyond a tile is not most of what is computed: in three dimensions a halo of two is
// three times the tile.
Dims least_tile(int rank) { return rank == 1 ? Dims{128} : rank == 2 ? Dims{8, 32} : Dims{8, 8, 32}; }

const ExecutionFacts& Target::facts(const Op& op) const {
  static constexpr ExecutionFacts none = {};
  const ExecutionFacts* found = find(op);
  return found ? *found : none;
}

Cost Target::cost(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  Cost cost = of.cost ? of.cost(call) : plain_cost(call);
  if (cost.work == WorkKind::by_kind) cost.work = work_of(call.op->kind);
  return cost;
}

std::int64_t Target::region_arena(const Call& call) const {
  std::int64_t most = 0;
  for (const RegionFacts& region : call.planned) most = std::max(most, region.arena_bytes);
  return aligned(most);
}

std::int64_t Target::scratch(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  return region_arena(call) + (of.scratch ? of.scratch(call) : 0);
}

bool Target::may_overwrite(const Call& call, int result, int operand) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.in_place && of.in_place(call, result, operand);
}

bool Target::takes_strides(const Call& call, int operand) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.strided && of.strided(call, operand);
}

Fusion Target::fusion(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.fusion ? of.fusion(call) : Fusion::none;
}

std::optional<Dims> Target::shift(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.shift ? of.shift(call) : std::nullopt;
}

bool Target::on_host(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.on_host && of.on_host(call);
}

HostReads Target::host_reads(const Call& call) const {
  const ExecutionFacts& of = facts(*call.op);
  return of.host_reads ? of.host_reads(call) : HostReads{};
}

}  // namespace tidemark
