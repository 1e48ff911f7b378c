// The step that every recomputation search takes: let an item go between two of its uses and compute it again
// before the later one, its operands being kept for that or computed again in turn.
#pragma once
#include "tidemark/solve/remat/timeline_edit.h"

namespace tidemark {

// A stretch in which an item is alive and idle: between event - 1 and event, which is a use, or the end for
// what is alive then (event = number of events).
struct Gap {
  int item;
  int event;
};

// The task that makes each item; -1 for what is there from the start.
std::vector<int> makers_of(const OrderModel& model);

// The gap of `item` that `run` falls in; event -1 when it is not alive there or not idle.
Gap gap_at(const Timeline& line, const OrderModel& model, int item, Timeline::Run run);

// Runs `task` again right before `next`. For every operand that would be kept alive for this run alone,
// `again(item)` says whether it is computed again too; at most `most` runs are put in.
template <class Again>
void insert_chain(TimelineEdit& edit, const RematProblem& problem, std::span<const int> makers, int task,
                  Timeline::Run next, int& most, Again&& again) {
  const Timeline::Run run = edit.insert(task, next);
  --most;
  for (int item : problem.model.uses[task]) {
    if (most <= 0) return;
    const Timeline& line = edit.now();
    const auto events = line.events(item);
    const int k = line.events_before(item, run);
    const bool read_later = k + 1 < static_cast<int>(events.size())
                                ? !events[static_cast<std::size_t>(k) + 1].make
                                : problem.model.pinned[static_cast<std::size_t>(item)];
    if (read_later || k == 0) continue;
    if (line.next(events[static_cast<std::size_t>(k) - 1].run) == run) continue;  // made or used just before
    const int source = makers[static_cast<std::size_t>(item)];
    if (source >= 0 && edit.may_insert(source, run) && again(item)) {
      insert_chain(edit, problem, makers, source, run, most, again);
    }
  }
}

}  // namespace tidemark
