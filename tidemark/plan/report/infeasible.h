// A budget that no plan meets: the smallest plan that was found, and what is alive where it peaks.
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/infeasible_budget.h"

namespace tidemark {

struct Infeasible {
  std::int64_t budget = 0;
  Plan smallest;  // the plan with the lowest peak that was found
};

// What is alive at the step where a plan peaks, by why it is there.
struct PeakParts {
  NodeId node;                // what runs
  std::int64_t inputs = 0;    // the caller's memory
  std::int64_t outputs = 0;   // results that are done and must stay
  std::int64_t operands = 0;  // what the step reads
  std::int64_t results = 0;   // what it writes
  std::int64_t scratch = 0;
  std::int64_t waiting = 0;  // what others will read
};
PeakParts parts_at_peak(const Plan& plan);
std::string to_text(const Graph& graph, const PeakParts& parts);

}  // namespace tidemark
