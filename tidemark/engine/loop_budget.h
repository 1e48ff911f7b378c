// How loops share a budget with everything else: how much each of them keeps for its reverse. What it does
// not keep it computes again.
//
// The modes of a loop (LoopModes: records, states in so many slots) change the graph, so a choice of modes is
// judged by a plan: quick, complete, within the budget, with what runs again outside of loops and inside
// their bodies. The choices that are judged: the same limit for every loop, from the highest with which
// nothing else runs again to freer ones; then one loop freer or tighter, or one freer and another tighter;
// then whatever the best left free of the budget. Where that is slow, some that did not fit are judged again
// with more effort. The fastest is taken.
#pragma once
#include <string>
#include <vector>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

// The traced graph prepared (prepare_graph) with its loops in the modes with which the fastest plan within
// options.memory is found, or the fastest of all where there is no budget; where nothing fits, with those
// that lead to the smallest plan.
struct PreparedLoops {
  Graph graph;
  LoopMemory loops = {};
};
PreparedLoops prepare_within(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                             const PlanOptions& options);

// The same with its plan, which is safe (state_safety.h); where the search for modes came by a faster one
// than planning the graph it chose, or by the only one, that.
struct PlanWithLoops {
  Graph graph;
  Result<Plan, Infeasible> plan;
  LoopMemory loops = {};  // with which the graph's loops were lowered
};
PlanWithLoops plan_with_loops(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                              const PlanOptions& options);

// As prepare_within for the smallest budget there is; options.memory plays no part.
Graph prepare_smallest(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                       const PlanOptions& options);

}  // namespace tidemark
