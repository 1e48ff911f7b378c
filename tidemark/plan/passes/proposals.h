// What to do about a budget that no plan meets: changes, each proposed only after it was planned and fits.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

struct Proposal {
  // "donating argument 0". Of a size with a `from`, its name: "batch"; of sizes or a tier, {} stands for the
  // size: "computing the batch in {} micro-batches".
  std::string what;
  // The changed graph, ready to plan. May throw Error: then the change cannot be made.
  std::function<Graph(std::int64_t size)> graph;
  // Of a graph with loops, which in `graph` keep as little as they may and compute all else again: a plan
  // that also decides what they keep. Whether a change fits is asked of the one, what it costs of the other.
  // None: there is nothing to decide, or nothing was found.
  std::function<std::optional<Plan>(std::int64_t size, const PlanOptions& options)> with_loops = {};
  PlanOptions options = {};  // with the budget
  // Of a size: the largest below `from` that fits is looked for, a multiple of `unit` and at least `least`.
  // Else 0.
  std::int64_t from = 0, unit = 1, least = 1;
  // Of sizes to choose from, each taking less memory than the one before: those about the first that fits are
  // planned, and the fastest of them is taken.
  std::vector<std::int64_t> sizes = {};
  // The last of the options' tiers is new: a round number of bytes, not many more than are needed, is looked
  // for.
  bool finds_tier = false;
  double seconds = 0;  // that extra time is counted from; 0: what the plan takes with nothing run again
};

// "batch 8 → 6 fits (1.94 GiB)", up to `most` of them, in the order proposed. Plans at most a dozen times for
// each.
std::vector<std::string> changes_that_fit(std::span<const Proposal> proposals, const Target& target,
                                          std::size_t most = 6);

}  // namespace tidemark
