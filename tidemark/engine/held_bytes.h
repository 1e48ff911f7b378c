// What graphs and plans themselves take, about: the vectors and strings they hold. Not the tensors, which
// plans count.
#pragma once
#include <cstdint>

#include "tidemark/plan/plan.h"

namespace tidemark {

std::int64_t held_bytes(const Graph& graph);
std::int64_t held_bytes(const Plan& plan);

// Of one planned program.
struct HeldBytes {
  std::int64_t graph = 0, plan = 0, kernels = 0;
  std::int64_t total() const { return graph + plan + kernels; }
};

}  // namespace tidemark
