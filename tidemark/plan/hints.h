// The user's hints (ir/hint.h) as the planner understands them: which nodes run once, which values must not
// wait in memory, and what became of each hint. The pass `hints` puts the executions in that they ask for, so
// that they work without any budget; a search for a budget comes after it and leaves those alone
// (Execution::required).
//
//   before   a b c │ d … loss … d' │ c' b' a'       a, b, c inside a checkpoint: alive all the way
//   after    a b c │ d … loss … d' │ a b c c' b' a'  computed again right before the backward reads the first of them
#pragma once
#include "tidemark/plan/passes/draft.h"

namespace tidemark {

// What the hints ask, for the order in the draft, whose nodes run once each.
PlanHints hints_of(const Draft& draft);

}  // namespace tidemark
