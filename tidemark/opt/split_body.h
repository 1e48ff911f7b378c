// One micro-batch: the body of the loop that a cut batch is computed in.
#pragma once
#include "tidemark/opt/split_needs.h"

namespace tidemark {

//   (sums so far…, parts of slices…, [number of the micro-batch], shared…) → (sums…, stacks…)
// Sizes are those of a micro-batch, numbers those of the whole batch.
Graph split_body(const BatchPair& pair, const BatchClasses& classes, const SplitNeeds& needs,
                 const BatchRules& rules, const SplitOps& ops);

}  // namespace tidemark
