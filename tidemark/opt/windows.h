// Parts of padded arrays as windows on what was padded, for targets whose kernels read such windows
// themselves (Target::reads_windows): a stencil then needs no padded copy, and its gradient no sum of padded
// ones.
//
//   slice(pad(x))                  pad(x), by less, or by less than nothing
//   slice(f(pad(x), pad(y)))       f(pad(x), pad(y)), each by less
//
// Where all readers work element by element: others would read an array in memory, and one padded array with
// windows on it is less to write than many. Every element is the one that it was.
#pragma once
#include "tidemark/ir/graph.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

Graph read_windows(const Graph& graph, const KnownOps& ops);

}  // namespace tidemark
