// What the user asks of the planner, carried by a graph beside its nodes: hints on single values, and
// checkpoints, which are sets of nodes whose inner values are worth less than their recomputation. Neither
// changes what is computed (but for `compress`, and that only what derivative rules read), so no node stands
// for them: optimisation is not hindered, and whatever a value becomes takes its hints along.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/ids.h"
#include "tidemark/base/source.h"

namespace tidemark {

enum class HintKind : std::uint8_t { keep, recompute, checkpoint, compress, offload };
std::string_view name_of(HintKind kind);

struct Hint {
  HintKind kind = HintKind::keep;  // any but checkpoint
  ValueId value;                   // invalid: the value was optimised away
  SourceLine where = {};
  std::string format = {};  // of a compress: the one in which the value waits for derivative rules
};

// One call of checkpoint(f). Nodes name the innermost one they were traced in.
struct Checkpoint {
  CheckpointId parent = {};  // the one around it; invalid: none
  std::string name = {};
  std::optional<Bytes> memory = {};   // what may be kept of its inside
  std::vector<ValueId> results = {};  // what f returned: the rest of what its nodes make is its inside
  SourceLine where = {};
};

}  // namespace tidemark
