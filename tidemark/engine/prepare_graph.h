// From a traced graph to the one that is planned.
#pragma once
#include <string>
#include <vector>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/opt/optimize.h"

namespace tidemark {

// The graph as the planner gets it: ops that the target does not run expanded, loops lowered with so many
// bytes for what they keep, then optimised. Throws Error no_kernel, at its line, for an op that the target
// does not run and that is written in no others.
Graph prepare_graph(const Graph& graph, const std::vector<std::string>& skip_optimisations = {},
                    OptReport* report = nullptr, const LoopMemory& loop_memory = {},
                    const Target& target = cpu_target());
// The same in two parts, where loops are lowered more than once: before it is decided what they keep, and
// after.
Graph prepare_unlowered(const Graph& graph, const std::vector<std::string>& skip_optimisations,
                        const Target& target);
Graph prepare_lowered(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                      OptReport* report, const LoopMemory& loop_memory, const Target& target);

// Throws Error no_kernel, at its line, for a node that the target does not run, in regions too.
void require_kernels(const Graph& graph, const Target& target);

}  // namespace tidemark
