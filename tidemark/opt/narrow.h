// Moves a narrowing node (an elementwise or reducing one whose result has at most half the bytes of an
// operand, such as `x > 0` or a cast to bf16) up to the producer of that operand, when this lets the operand
// die earlier:
//
//   before   x ●────────── forward ──────────● x > 0        x lives
//   after    x ●● x > 0 ── forward ──────────●              a byte per element lives
//
// The order of nodes is the default order of execution, so moving a node moves lifetimes. A group of
// narrowing nodes at the end of an operand's life moves together if the bytes·steps it saves exceed those its
// results cost. It goes before the operand's other readers, so that one of those may overwrite the operand.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

Graph narrow(const Graph& graph);

}  // namespace tidemark
