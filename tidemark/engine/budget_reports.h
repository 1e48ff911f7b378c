// What a function says of its budgets before anything runs.
#pragma once
#include <optional>
#include <string>

#include "tidemark/base/bytes.h"
#include "tidemark/plan/report/footprint.h"
#include "tidemark/plan/report/size_formulas.h"

namespace tidemark {

// The smallest budget that a plan was found for, and what stands in the way of a smaller one.
struct SmallestBudget {
  Bytes memory;
  Bytes bound;                         // no plan, with these views and donations, is below
  double seconds = 0, extra_time = 0;  // predicted; extra as a share of the time without a budget
  std::string pinned_by;               // "matmul (train.cpp:88): 1.20 MiB inputs, …"
};

// A budget, and what is planned within it.
struct FrontierPoint {
  Bytes budget, memory;                // asked for, and taken
  double seconds = 0, extra_time = 0;  // predicted
  double seconds_bound = 0;            // no plan within the budget is predicted faster
  int recomputed = 0;                  // steps beyond the first of each node
};

// Lines for the end of a summary.
std::string budget_lines(const SmallestBudget& smallest, const std::optional<Footprint>& footprint);

}  // namespace tidemark
