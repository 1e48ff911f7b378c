// How many couplings of reversible blocks are undone in the backward pass (autodiff/inverses.h): as many as
// make the plan fastest. Undoing changes the graph, so a number is judged by a plan, as forms are
// (form_search.h), which are chosen with it. The plan that undoes nothing is one of the choices.
#pragma once
#include "tidemark/autodiff/backward_values.h"
#include "tidemark/engine/form_search.h"

namespace tidemark {

struct PlanWithValues {
  Graph graph;  // as planned
  Result<Plan, Infeasible> plan;
  BackwardValues values;
  LoopMemory loops = {};  // as PlanWithLoops
};

// `traced` with its marks. Without a budget, or where inverting is not allowed, nothing is undone.
PlanWithValues plan_with_values(const Graph& traced, const std::optional<Lossy>& lossy,
                                const std::vector<std::string>& skip_optimisations,
                                const PlanOptions& options);

// What may need the least memory: nothing undone, every coupling that may be; each in the forms that were
// asked for, and in the smallest that may be. The last is the one to try alone.
std::vector<BackwardValues> extreme_values(const Graph& traced, const std::optional<Lossy>& lossy,
                                           const Choices& allow = {});

}  // namespace tidemark
