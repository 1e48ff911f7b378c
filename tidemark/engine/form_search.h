// Which values wait for the backward pass in a lossy form, where the user allows it: those that are dearest
// to compute again, for each byte that their form saves, and as many of them as make the plan fastest.
//
// A form changes the graph (autodiff/residuals.h), so a choice is judged by a plan: quick, complete, within
// the budget, with recomputation, tiers and the modes of loops for everything that keeps its form. The exact
// plan is one of the choices, so that allowing forms never makes a plan slower.
#pragma once
#include "tidemark/autodiff/residuals.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/loop_budget.h"

namespace tidemark {

struct PlanWithForms {
  Graph graph;  // as planned
  Result<Plan, Infeasible> plan;
  ResidualChoice forms;
};

// `traced` with its marks. Without `lossy` or without a budget: the forms that were asked for, value by
// value.
PlanWithForms plan_with_forms(const Graph& traced, const std::optional<Lossy>& lossy,
                              const std::vector<std::string>& skip_optimisations, const PlanOptions& options);

// Every value that may in the smallest form within the error.
ResidualChoice all_forms(const Graph& traced, const std::optional<Lossy>& lossy);

}  // namespace tidemark
