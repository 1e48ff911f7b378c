// Random graphs of costs and bytes (solve/dag/dag.h) of the families that planners are compared on; the same
// for a given seed.
//
//   layered   nodes in layers, edges from the layers just before and a few from far, in a depth-first order
//   training  x0 ─▶ x1 ─▶ … ─▶ loss ─▶ g… ─▶ g1 ─▶ g0: the gradient of a node reads its value, the values it
//             went
//             into, and their gradients
#pragma once
#include <cstdint>

#include "tidemark/solve/dag/dag.h"

namespace tidemark::testing {

enum class DagFamily {
  layered,  // as in MOCCASIN (ICML 2023)
  chain,    // the rest as exported by Checkmate (MLSys 2020): plain networks, sizes falling at each pooling,
  unet,     // down and up again, with concatenations across,
  resnet,   // residual additions,
  uneven,   // a chain with costs and bytes of all magnitudes
};
const char* name_of(DagFamily family);

// About `nodes` nodes, at least 12.
Dag random_dag(DagFamily family, int nodes, std::uint64_t seed);

}  // namespace tidemark::testing
