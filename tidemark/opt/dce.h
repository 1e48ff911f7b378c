// Dead code elimination: drops nodes none of whose results reach an output, unless running them has an
// effect.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

Graph dce(const Graph& graph);

}  // namespace tidemark
