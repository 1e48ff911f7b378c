// The searches for schedules of a graph of costs and bytes, with an effort in work units or in seconds.
#pragma once
#include <span>

#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/remat/search.h"
#include "tools/options/effort_option.h"

namespace tidemark::cli {

Sequence own_order(const Dag& dag);  // every node once, as in the file

// Within the problem's budget, at the least cost. `warm`: a schedule for a budget nearby; may be empty.
RematResult cheapest_schedule(const RematProblem& problem, const Sequence& base, const Effort& effort,
                              std::span<const int> warm = {}, const SolverChoice& solvers = {});

// At no extra cost: every node once, in the order with the lowest peak.
RematResult least_memory(const RematProblem& problem, const Sequence& base, const Effort& effort);

}  // namespace tidemark::cli
