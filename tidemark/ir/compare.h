// Are two graphs the same program? Ids may differ: inputs, nodes and results are paired by their order.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

struct CompareOptions {
  bool names = true;  // of graphs and values
  bool lines = true;  // and what reverse mode wrote or was asked for
  bool hints = true;  // and checkpoints
};

bool same_graph(const Graph& a, const Graph& b, const CompareOptions& options = {});
// Of structure, types and attributes; not of names, lines and hints.
std::size_t hash_graph(const Graph& graph);

}  // namespace tidemark
