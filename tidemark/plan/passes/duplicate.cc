// Duplicate: cheap values that several kernels read are made in each of them, where that takes less time than
// writing and reading them. On a finished draft, so that whatever searches find is what they would find
// without.
#include <algorithm>

#include "tidemark/plan/passes/duplicate_search.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {

Draft duplicate(Draft draft) {
  if (!draft.groups) return draft;
  DuplicateSearch search(draft);
  if (!search.find()) return draft;
  std::vector<Execution> executions = search.executions();
  for (Execution& run : executions) run.overwrites.clear();
  draft.order_free_bound = std::min(draft.order_free_bound, search.order_bound());
  draft.duplicates = {
      .values = static_cast<int>(std::ranges::count(executions, true, &Execution::duplicate)),
      .steps = static_cast<int>(executions.size()) - static_cast<int>(draft.executions.size())};
  draft.executions = std::move(executions);
  return draft;
}

}  // namespace tidemark
