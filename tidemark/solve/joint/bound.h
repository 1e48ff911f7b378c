// What no schedule of a joint problem can beat.
#pragma once
#include "tidemark/solve/joint/problem.h"

namespace tidemark {

// No schedule within the budgets has a shorter makespan. Every choice runs in its cheapest mode; and at the
// first run of each, what is too much for the first memory must have been made to be made again, on the first
// lane, or have left it by lanes that had no more time than there was before, and have none but what is left
// for the way back. Infinite: a single task is too large for the budget.
double makespan_bound(const JointProblem& problem);

}  // namespace tidemark
