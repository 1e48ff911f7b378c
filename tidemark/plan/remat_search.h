// The searches behind recomputation. All are deterministic: effort is counted in work units, never in seconds.
#pragma once
#include <cstdint>
#include <span>

#include "tidemark/plan/order_search.h"
#include "tidemark/plan/remat_problem.h"

namespace tidemark {

// Lets go, step by step, what costs least to compute again until every load is within `limit` or nothing helps. Never
// above the start's peak.
Sequence shave(const RematProblem& problem, std::span<const int> start, std::int64_t limit, Work& work);

// Simulated annealing over where what runs again: repeats come, go, move, or change places; with a free order first
// runs move too. Returns the cheapest sequence within the budget that it met, the start if that is; empty when there
// was none.
struct AnnealOptions {
  std::uint64_t seed = 1;
  double hot = 1, cold = 0.002;  // temperatures, as multiples of the mean cost of a task
};
Sequence anneal(const RematProblem& problem, std::span<const int> start, const AnnealOptions& options,
                Work& work);

}  // namespace tidemark
