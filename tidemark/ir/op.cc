#include "tidemark/ir/op.h"

namespace tidemark {

std::string_view name_of(OpKind kind) {
  constexpr std::string_view names[] = {"elementwise", "reduction", "contraction", "movement", "random",
                                        "control",     "effect",    "opaque",      "composite"};
  return names[static_cast<int>(kind)];
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

Cost cost_of(const Call& call) {
  if (call.op->cost) return call.op->cost(call);
  Cost cost{.bytes = bytes_moved(call)};
  for (const Type& type : call.out) cost.flops += static_cast<double>(type.count());
  return cost;
}

std::int64_t scratch_of(const Call& call) { return call.op->scratch ? call.op->scratch(call) : 0; }

bool may_overwrite(const Call& call, int result, int operand) {
  return call.op->in_place && call.op->in_place(call, result, operand);
}

}  // namespace tidemark
