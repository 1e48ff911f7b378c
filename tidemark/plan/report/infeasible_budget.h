// A budget that no plan meets: what would be the smallest, and what stands in the way.
//
//   error[TM0101]: a budget of 2.00 GiB is 312 MiB below the smallest that fits
//     --> train.cpp:88
//     peak: matmul (gpt.cpp:141) of 2.31 GiB: 1.20 GiB inputs, 512 MiB operands, …
//     help: batch 8 → 6 fits (1.94 GiB)
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark {

class Graph;
struct Infeasible;  // infeasible.h

class InfeasibleBudget : public Error {
 public:
  // `changes`: what would fit, in the user's words, each found by planning it.
  InfeasibleBudget(const Graph& graph, Infeasible details, SourceLine where = {},
                   std::vector<std::string> changes = {});

  Bytes budget() const;
  Bytes smallest() const;
  const Infeasible& details() const { return *details_; }

 private:
  std::shared_ptr<const Infeasible> details_;  // never null; copies of the error share it
};

}  // namespace tidemark
