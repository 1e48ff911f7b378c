// A call computed in micro-batches: the function is traced for the whole batch and for a micro-batch, and the
// two graphs become one with a loop in it (opt/split_batch.h). From there on it is planned and run as any
// other.
#pragma once
#include <exception>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/traced_function.h"

namespace tidemark {

struct CutFunction {
  TracedFunction function;  // whose traces are cut
  Graph traced;             // for the function's own types
  CompileOptions options;   // with the batch and the number named
  MicroBatches micro_batches;
};

// Of the divisors of a batch those that are worth trying, from 1 on: each at least half as much again as the
// one before.
std::vector<std::int64_t> micro_batch_counts(std::int64_t batch);

// Into so many. `traced`: for the function's own types. Throws Error, with the user's line where there is
// one, for a function or a batch that cannot be cut so.
CutFunction cut_function(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                         std::int64_t count, SourceLine where);

// A way to cut, and what a quick plan of it within the budget takes.
struct JudgedCut {
  CutFunction cut;
  double seconds = 0;        // infinite: none was found
  double least_seconds = 0;  // with nothing computed again
};
struct JudgedCuts {
  std::vector<JudgedCut> list;  // at least one
  std::exception_ptr why_not =
      {};  // the Error of the fewest micro-batches, where only the batch as it is can be
};
// Of an open number: the micro_batch_counts that can be made, the fastest first; of those that are not known
// to fit, the most micro-batches first, as they take the least memory. Only the batch as it is where next to
// nothing is computed again then.
JudgedCuts judged_cuts(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                       SearchControl* control, SourceLine where);

// Into as many as the options say; where they leave it open, the first of the judged_cuts. Throws Error where
// that is not known to fit and cannot be cut.
CutFunction cut_to_plan(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                        SearchControl* control, SourceLine where);

// For reports: as cut_to_plan; where no budget decides, into `otherwise`, or fewer where that cannot be.
// `most`: as many as there may be.
enum class OpenCount : std::uint8_t { one, most };
CutFunction cut_to_report(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                          OpenCount otherwise, SourceLine where);

}  // namespace tidemark
