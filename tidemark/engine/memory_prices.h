// What a little more of each memory would save: the time of a plan within the budgets, less that of a plan
// with a sixteenth more of one of them. Both are quick plans of their own, so a price is a difference of two
// searches' results, not a slope: it is 0 where the further bytes let nothing be done better, and may be high
// just below a budget from which something large fits. The same call has the same prices everywhere.
//
//   fmt::print("{}", to_text(step.prices(net, x)));
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/engine/compile_options.h"

namespace tidemark {

struct MemoryPrice {
  std::string memory = {};   // "ram", "disk"
  Bytes budget, more;        // that was planned with, and what was added to it
  double seconds = 0;        // predicted within the budgets
  double seconds_saved = 0;  // with more; 0 or above

  double seconds_per_byte() const {
    return more.count > 0 ? seconds_saved / static_cast<double>(more.count) : 0;
  }
};

// Of the first memory, then of each tier. `traced` with its marks, `options` with a budget. Throws
// InfeasibleBudget at `where` if nothing fits it.
std::vector<MemoryPrice> memory_prices(const Graph& traced, const std::optional<Lossy>& lossy,
                                       const std::vector<std::string>& skip_optimisations,
                                       const PlanOptions& options, SourceLine where = {});

// Lines for the end of a summary.
std::string to_text(const std::vector<MemoryPrice>& prices);

}  // namespace tidemark
