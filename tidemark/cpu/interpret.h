// The reference way to run a graph: node by node, every value dense in memory of its own, freed after its
// last use, nothing planned. Ops on data outside `compile` run this way; the laws hold planned runs against
// it.
#pragma once
#include <span>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/ir/graph.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// Inputs are dense and stay the caller's. Each output has memory of its own, also when it is an input.
std::vector<AlignedBytes> interpret(const Graph& graph, std::span<const std::byte* const> inputs,
                                    ThreadPool& pool);

// The same with literals in and out, for folding and tests.
std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs, ThreadPool& pool);
std::vector<Literal> interpret(const Op& op, std::span<const Literal> operands, const Attrs& attrs,
                               ThreadPool& pool);

}  // namespace tidemark
