// Regions (the bodies of loops and branches) are planned before the graph they stand in: once, however often they run.
// Of their plans the passes see only what the op's facts make of them: workspace and time of the node.
#pragma once
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

// For the same machine and effort as the graph's plan; each takes the least memory that costs no extra time.
RegionPlans plan_regions(const Graph& graph, const Target& target, const PlanOptions& options);

}  // namespace tidemark
