// Samples for ops that have regions (loops, branches). They stand here and not among the ops' facts because a
// region is a graph, which those do not know. Regions are text, in f64, recast like the operands to every
// floating-point dtype.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark::testing {

struct RegionSample {
  Sample sample;
  std::vector<std::string> regions;
  bool expands = true;  // where the op has an expansion, this call has one
};
std::vector<RegionSample> region_samples(const Op& op);

Graph region_in(const std::string& text, DType dtype);

}  // namespace tidemark::testing
