// The heaviest moments of a problem, each with the chains of operands that it makes run again: a bound for
// sequences of any length, quick enough for thousands of tasks.
#pragma once
#include <cstdint>

#include "tidemark/solve/remat/moment_cut.h"

namespace tidemark {

// The first run of a task, as every sequence within the budget sees it. Of what tasks earlier in every order
// have made, let K be what is alive then. Whatever runs later reads items of K, results of tasks that run
// first at the moment or later, and results of tasks that run again later. So K and the tasks that run again
// are a choice of MomentCut, K is within the budget beside what the task takes itself, and each task that
// runs again costs at least one run more than all tasks once. In a free order a task that is not surely
// earlier or later may be either: nothing is needed for its own sake, and it makes what others need later at
// no cost.
Moment first_run(const RematProblem& problem, int task);

// No sequence within the budget has repeated runs of less cost: the most that one of the heaviest moments of
// the base order asks for. `visits`: of edges (moment_cut.h). `joins`: per task, whether it may be part of a
// larger kernel. There it may cost nothing, and what it reads and makes need not be in memory, so that it is
// no moment; none if empty.
double repeats_at_moments(const RematProblem& problem, std::int64_t visits,
                          const std::vector<bool>& joins = {});

}  // namespace tidemark
