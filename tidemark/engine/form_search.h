// Which values wait for the backward pass in a smaller form: one that is exact where there is such a one,
// or a lossy one where the user allows it. Those that are dearest to compute again, for each byte that
// their form saves, and as many of them as make the plan fastest.
//
// A form changes the graph (autodiff/residuals.h), so a choice is judged by a plan: quick, complete, within
// the budget, with recomputation, tiers and the modes of loops for everything that keeps its form. The plan
// without forms is one of the choices, and that with exact ones alone is one of those with lossy ones, so
// that allowing forms never makes a plan slower.
#pragma once
#include "tidemark/autodiff/residuals.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/loop_budget.h"

namespace tidemark {

struct PlanWithForms {
  Graph graph;  // as planned
  Result<Plan, Infeasible> plan;
  ResidualChoice forms;
  LoopMemory loops = {};  // as PlanWithLoops
};

// `traced` with its marks. Without a budget, or where compressing is not allowed: the forms that were asked
// for, value by value.
PlanWithForms plan_with_forms(const Graph& traced, const std::optional<Lossy>& lossy,
                              const std::vector<std::string>& skip_optimisations, const PlanOptions& options);

// Every value that may in its smallest form: an exact one, or one within the error.
ResidualChoice all_forms(const Graph& traced, const std::optional<Lossy>& lossy, const Choices& allow);

}  // namespace tidemark
