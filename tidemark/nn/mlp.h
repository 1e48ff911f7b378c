// Linear layers with relu between them.
#pragma once
#include <vector>

#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct Mlp {
  std::vector<Linear> layers;
  TM_FIELDS(Mlp, layers)

  static Mlp init(const Tensor& key, const std::vector<std::int64_t>& widths,
                  SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (…, first width) → (…, last width)
};

}  // namespace tidemark::nn
