// Fuse: runs that follow each other element by element become one kernel, so that what passes between them is
// never in memory. From readers to makers, then among readers of the same arrays; each step is taken if the
// two can stand together (fuse_state.h) and the load rises nowhere above what it is at its highest, or above
// the budget's share.
#include "tidemark/plan/passes/fuse_state.h"
#include "tidemark/plan/passes/passes.h"

namespace tidemark {
namespace {

// What stood in the way of two may have gone out of it.
constexpr int most_rounds = 4;

template <class Candidates>
bool join_all(FuseState& state, const Candidates& candidates) {
  bool joined = false;
  for (int run = 0; run < state.runs(); ++run) {
    for (bool again = state.is_last(run); again;) {
      again = false;
      for (int other : candidates(state.unit_of(run))) {
        if (!state.try_join(other, state.unit_of(run))) continue;
        joined = again = true;
        break;
      }
    }
  }
  return joined;
}

}  // namespace

Draft fuse(Draft draft) {
  FuseState state(draft);
  if (draft.group_limit >= 0) state.set_limit(draft.group_limit);
  bool any = false;
  for (int round = 0; round < most_rounds; ++round) {
    const bool chains = join_all(state, [&](int unit) { return state.makers(unit); });
    const bool fellows = join_all(state, [&](int unit) { return state.fellow_readers(unit); });
    if (!chains && !fellows) break;
    any = true;
  }
  if (!any) return draft;
  draft.executions = state.executions();
  draft.order_free_bound = state.order_bound();
  return draft;
}

}  // namespace tidemark
