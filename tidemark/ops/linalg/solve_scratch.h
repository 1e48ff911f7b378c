// The workspace of `solve`: matrices are factorised in copies, a few at a time.
#pragma once
#include <algorithm>

#include "tidemark/ir/type.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

struct SolveScratch {
  std::int64_t matrices = 0, slots = 0;
  std::int64_t factors = 0, pivots = 0;  // bytes in each slot
  std::int64_t bytes() const { return slots * (factors + pivots); }
};

inline SolveScratch solve_scratch(DType dtype, const Shape& a) {
  const auto aligned = [](std::int64_t bytes) {
    return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  };
  const std::int64_t n = a.back();
  SolveScratch scratch;
  if (element_count(a) == 0) return scratch;
  scratch.matrices = element_count(a) / (n * n);
  scratch.slots = std::min<std::int64_t>(scratch.matrices, 8);
  scratch.factors = aligned(n * n * size_of(dtype));
  scratch.pivots = aligned(n * 4);
  return scratch;
}

}  // namespace tidemark
