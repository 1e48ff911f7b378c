// Whose inside is a value? Checkpoints are sets of traced nodes; this reads off them which values are made
// inside a checkpoint and stay there, and when, in a given order, the checkpoint's forward run is over.
//
//   forward run of the checkpoint                 its backward
//   x ─▶ a ─▶ b ─▶ y ─▶ …                          reads a, b, (b > 0): inside; y and x: not
//            └─▶ b > 0     written by a derivative rule, computable from a and b alone: adopted
//
// Adopted nodes are for the backward alone. Wherever the order has them, they wait until something reads
// them: earlier, they would have the inside computed again too early, or be one more value to store.
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/passes/draft.h"

namespace tidemark {

struct CheckpointScopes {
  std::vector<CheckpointId> of_node;   // the innermost one it runs for; invalid: none
  std::vector<CheckpointId> of_value;  // per root: the innermost one it never leaves; invalid: none
  std::vector<bool> adopted;           // per node
  std::vector<int>
      forward_end;        // per checkpoint: position of the last execution of its forward run; -1: none
  std::vector<int> size;  // per checkpoint: its executions, inner ones included
};

// `once`: per node, why it may not run again, or empty; such nodes are not adopted.
CheckpointScopes scopes_of(const Draft& draft, const std::vector<std::string>& once);

}  // namespace tidemark
