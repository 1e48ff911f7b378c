// From hints to decisions on single values, for a given order: the part between what the user said
// (ir/hint.h) and the executions that follow from it (replay.h).
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/passes/checkpoint_scopes.h"
#include "tidemark/plan/passes/draft.h"

namespace tidemark {

// Nodes that run once, whatever is asked, each with the reason; empty: may run again.
std::vector<std::string> once_only(const Draft& draft);

struct Drop {
  int after = 0;  // position of the execution after which the value is gone
  ValueId root;
};

struct HintDecisions {
  CheckpointScopes scopes;
  std::vector<std::string> once;    // per node, see once_only
  std::vector<bool> kept;           // per root: asked to stay, by a hint or by a checkpoint's memory
  std::vector<bool> dropped;        // per root: gone over a gap that a later reader ends
  std::vector<Drop> drops;          // in order of position
  std::vector<int> last_use;        // per root: position of its last reader; -1: none
  std::vector<HintReport> reports;  // hints first, then checkpoints, in the graph's order; costs are still 0
};

// `once` is given: what turned out not to be repeatable is added and the question asked again.
HintDecisions decide_hints(const Draft& draft, std::vector<std::string> once);

}  // namespace tidemark
