// Forward mode as a graph-to-graph transformation.
//
//   f: (x…) → (y…)        jvp_graph(f, wrt): (x…, ẋ for each wanted x) → (y…, ẏ for each floating-point y)
#pragma once
#include <span>

#include "tidemark/ir/builder.h"

namespace tidemark {

Graph jvp_graph(const Graph& f, std::span<const bool> wrt);

}  // namespace tidemark
