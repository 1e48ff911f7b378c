// The reference way to run a graph: node by node, every value dense in memory of its own, nothing planned.
// Constant folding, the laws and the tests hold planned runs against it.
#pragma once
#include <span>
#include <vector>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/graph.h"

namespace tidemark {

std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs, ThreadPool& pool);

// One op on data.
std::vector<Literal> interpret(const Op& op, std::span<const Literal> operands, const Attrs& attrs, ThreadPool& pool);

}  // namespace tidemark
