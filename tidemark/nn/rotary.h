// Rotary positions (Su et al. 2021): the angles of every position and frequency, shared by all layers; pairs
// (i, i + D/2) turn together.
#pragma once
#include "tidemark/trace/functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct Rotary {
  Tensor cosine, sine;  // (T, D/2)
  TM_FIELDS(Rotary, cosine, sine)

  static Rotary of(std::int64_t length, std::int64_t head_width, DType dtype,
                   SourceLine where = std::source_location::current());
  Rotary at(const Operand& positions) const;  // (count): only these, an error while running beyond T
  Tensor operator()(const Operand& x) const;  // (B, H, T, D)
};

}  // namespace tidemark::nn
