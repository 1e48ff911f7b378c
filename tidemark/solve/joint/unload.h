// A greedy way into the budgets: where a memory is fullest, an item leaves it for the gap that spans that
// moment, by the way that relieves most for the time it adds, until everything fits or nothing helps.
#pragma once
#include "tidemark/solve/joint/lowered.h"
#include "tidemark/solve/work.h"

namespace tidemark {

// The last schedule it came to; it may not be within the budgets.
JointSchedule unload(const Lowered& lowered, const JointSchedule& start, Work& work);

}  // namespace tidemark
