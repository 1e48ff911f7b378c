// The page of `tidemark plan --html`: the plan that was asked for among others, from the smallest to the
// fastest, that its slider goes over.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/passes/plan_options.h"
#include "tidemark/plan/plan.h"

namespace tidemark::cli {

struct PlanPage {
  std::string title;
  const Graph& traced;
  const Graph& graph;  // as planned
  const Plan& plan;
  std::optional<Lossy> lossy = {};
  PlanOptions options = {};        // with which it was planned
  std::optional<int> points = {};  // plans of the slider; none: as many as are made quickly
  std::vector<std::string> notes = {};
};
std::string plan_page(const PlanPage& page);

}  // namespace tidemark::cli
