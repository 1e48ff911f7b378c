// What a call of an operation costs, as its target says: work and bytes, which a machine's rates turn into
// seconds.
#pragma once
#include <cstdint>
#include <string_view>

namespace tidemark {

// What kind of machinery does the work: a machine has rates for each (plan/machine.h). by_kind: as the op's
// kind says.
enum class WorkKind : std::uint8_t {
  by_kind,
  elementwise,
  reduction,
  rows,  // several passes over rows that stay in the cache: softmax, norms, losses
  contraction,
  convolution,
  depthwise,  // convolutions without products of matrices
  attention,
  movement,
  indexed,  // addresses that are data: gather, scatter, take
  random,
  sort,
  factorization,
  opaque
};
inline constexpr int work_count = 14;
std::string_view name_of(WorkKind work);

struct Cost {
  double flops = 0;  // in additions: a function counts as many as take its time, a row what its start takes
  double bytes = 0;  // moved to and from memory
  WorkKind work = WorkKind::by_kind;
  double speed = 1;  // on top of the machine's factor for the dtype, where the target computes otherwise
  // Where regions or the host do the work: what they are predicted to take; rates then play no part.
  double seconds = 0;
};

}  // namespace tidemark
