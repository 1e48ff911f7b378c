// A call computed in micro-batches: the function is traced for the whole batch and for a micro-batch, and the
// two graphs become one with a loop in it (opt/split_batch.h). From there on it is planned and run as any
// other.
#pragma once
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/traced_function.h"

namespace tidemark {

struct CutFunction {
  TracedFunction function;  // whose traces are cut
  Graph traced;             // for the function's own types
  CompileOptions options;   // with the batch and the number named
  MicroBatches micro_batches;
};

// Into so many. `traced`: for the function's own types. Throws Error, with the user's line where there is
// one, for a function or a batch that cannot be cut so.
CutFunction cut_function(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                         std::int64_t count, SourceLine where);

// Into as many as the options say; where they leave it open, as let quick plans be fastest within the budget.
// Numbers that divide the batch are tried, each at least half as much again as the one before; only 1 if
// nothing is computed again then. Where no quick plan fits, as many as there may be: that takes the least
// memory.
CutFunction cut_to_plan(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                        SearchControl* control, SourceLine where);

// For reports: as cut_to_plan; where no budget decides, into `otherwise`, or fewer where that cannot be.
// `most`: as many as there may be.
enum class OpenCount : std::uint8_t { one, most };
CutFunction cut_to_report(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                          OpenCount otherwise, SourceLine where);

}  // namespace tidemark
