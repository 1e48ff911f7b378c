// What no sequence of a recomputation problem can beat: a least peak, and a least cost within the budget.
// Always computed beside a search, so that a result can be shown with its gap; quick enough for tens of
// thousands of tasks.
#pragma once
#include <cstdint>

#include "tidemark/solve/remat/problem.h"
#include "tidemark/solve/search_control.h"

namespace tidemark {

// No sequence has a lower peak. Counts at the first run of each task what it takes itself and what is made
// before it, needed after it and cannot be made again; and what is left at the end. The problem's budget
// plays no part.
std::int64_t memory_bound(const RematProblem& problem);

struct TimeBoundOptions {
  std::int64_t work = 40'000'000;    // visits of an item in a stage (relax.h), some 10 ns each
  SearchControl* control = nullptr;  // may end it early, with the bound so far
};
// No sequence within the budget costs less: never below the cost of running every task once. Infinite if it
// turns out that no sequence is within the budget.
double time_bound(const RematProblem& problem, const TimeBoundOptions& options = {});

}  // namespace tidemark
