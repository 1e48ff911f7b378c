// What to do about a budget that no plan meets: changes, each proposed only after it was planned and fits.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

struct Proposal {
  std::string what;  // "donating argument 0"; of a size, its name: "batch"
  // The changed graph, ready to plan. May throw Error: then the change cannot be made.
  std::function<Graph(std::int64_t size)> graph;
  PlanOptions options = {};  // with the budget
  // Of a size: the largest below `from` that fits is looked for, a multiple of `unit` and at least `least`.
  // Else 0.
  std::int64_t from = 0, unit = 1, least = 1;
};

// "batch 8 → 6 fits (1.94 GiB)", up to `most` of them, in the order proposed. Plans at most a dozen times for
// each.
std::vector<std::string> changes_that_fit(std::span<const Proposal> proposals, const Target& target,
                                          std::size_t most = 3);

}  // namespace tidemark
