// Random plans over several memories and lanes, made from a plan of one: values wait in another memory or in
// another form where there is time between their uses, launches move to a second lane that computes, waits
// order what must be ordered, and buffers are placed anew, sharing bytes wherever happens-before allows it.
#pragma once
#include "tidemark/plan/plan.h"

namespace tidemark::testing {

// Right, and the same for the same seed. `plain` is of one memory and one lane.
Plan spread(const Graph& graph, const Plan& plain, unsigned seed);

}  // namespace tidemark::testing
