// A budget that no plan meets: what would be the smallest, and what stands in the way.
//
//   error[TM0101]: a budget of 2.00 GiB is 312 MiB below the smallest that fits
//     --> train.cpp:88
//     peak: matmul (gpt.cpp:141) of 2.31 GiB: 1.20 GiB inputs, 512 MiB operands, …
//     help: batch 8 → 6 fits (1.94 GiB)
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/plan/plan.h"

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

class InfeasibleBudget : public Error {
 public:
  // `changes`: what would fit, in the user's words, each found by planning it.
  InfeasibleBudget(const Graph& graph, Infeasible details, SourceLine where = {},
                   std::vector<std::string> changes = {});

  Bytes budget() const { return Bytes(details_.budget); }
  Bytes smallest() const { return Bytes(details_.smallest.peak()); }
  const Infeasible& details() const { return details_; }

 private:
  Infeasible details_;
};

}  // namespace tidemark
