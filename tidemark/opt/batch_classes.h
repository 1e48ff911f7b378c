// What every value of a function has to do with the batch (batch_layout.h), and where each of its nodes is to
// be computed if the batch is cut into micro-batches:
//
//   once      for the whole batch, whatever the micro-batches do: it does not depend on their results
//   body      in each micro-batch
//   behind    when all micro-batches are done, from sums that are then complete
//
// A value that follows from complete sums and is needed within micro-batches, such as the 1/Σw of a weighted
// mean, is computed early: for the whole batch, before the first micro-batch. That must be cheap: it depends
// on the arguments through elementwise operations, reductions and movement alone, and nothing on the way is
// larger than the arguments it is made of. Whatever else would need all examples before it can go on with
// single ones (batch normalisation, contrastive losses) is refused by name.
#pragma once
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/opt/batch_rules.h"

namespace tidemark {

// One function, traced for the whole batch and for one of `parts` micro-batches.
struct BatchPair {
  const Graph& full;
  const Graph& small;
  const std::vector<bool>& batched;  // per input: does it hold the batch, along the axis whose size differs?
  std::int64_t parts;
  SourceLine where;  // of who asked, for errors that have no line of their own
};

enum class BatchPlace : std::uint8_t { once, body, behind };

struct BatchClasses {
  std::vector<BatchClass> values;
  std::vector<BatchPlace> nodes;
  std::vector<bool> early;  // per value

  bool is_whole(ValueId v) const { return early[v.index] || values[v.index].is(BatchRole::whole); }
};

// Throws Error with the user's line for what cannot be cut, and for graphs that differ in more than sizes.
BatchClasses classify_batch(const BatchPair& pair, const BatchRules& rules);

}  // namespace tidemark
