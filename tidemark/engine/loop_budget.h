// How much of a budget loops get for what they keep: as much as still fits. What they do not keep they compute again.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

// The traced graph prepared (prepare_graph) so that its loops keep the most with which a plan within options.memory is
// found without recomputing anything else; everything when there is no budget, the least when nothing fits.
Graph prepare_within(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                     const PlanOptions& options);

}  // namespace tidemark
