// The passes, in the order pipeline.cc runs them. Each decides one thing of the Draft and nothing else; each
// is a file of its own, named after it.
#pragma once
#include "tidemark/plan/passes/draft.h"

namespace tidemark {

// Which values are windows on another value's memory instead of copies.
Draft views(Draft draft);
// Which outputs, and the values they are updated through, live in the memory of donated inputs.
Draft donate(Draft draft);
// What runs when: the order with the lowest peak found.
Draft order(Draft draft);
// What runs again because a hint asks for it.
Draft hints(Draft draft);
// What runs more than once, so that what has a gap need not stay in memory; only with a budget.
Draft remat(Draft draft);
// Updates of donated memory as soon as what they read is there; never at a higher load.
Draft release(Draft draft);
// Which runs are one kernel, and so next to each other; never at a higher load.
Draft fuse(Draft draft);
// Which values each kernel that reads them makes for itself, because that is faster; never at a higher load.
Draft duplicate(Draft draft);
// Which results are written over an operand that nobody reads again.
Draft in_place(Draft draft);
// Which buffers exist, and from which step to which.
Draft liveness(Draft draft);
// Where each buffer lies in the arena.
Draft layout(Draft draft);

// The most bytes of the arena alive at one of so many steps.
std::int64_t maximum_load(const std::vector<Buffer>& buffers, std::size_t steps, std::int64_t alignment);

// The finished draft as a Plan, with its figures.
Plan finish(const Draft& draft);

}  // namespace tidemark
