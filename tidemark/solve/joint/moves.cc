#include "tidemark/solve/joint/moves.h"

#include <algorithm>

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

using Run = JointEdit::Run;
constexpr Run none = JointEdit::none;
constexpr int drop_attempts = 16;  // at items without a gap, until one is found
constexpr int most_runs = 16;      // put in by one change

}  // namespace

int JointMoves::distance() {
  constexpr std::size_t widest = 8;  // 2^8 runs: transfers may begin long before they are needed
  return static_cast<int>(random_.below(std::size_t{1} << random_.below(widest + 1)));
}

// Up to so many runs before `from`, but after `not_before`.
Run JointMoves::back(const JointEdit& edit, Run from, Run not_before, int steps) const {
  for (; steps > 0; --steps) {
    const Run before = from == none ? none : edit.line().previous(from);
    if (before == none || before == not_before) break;
    from = before;
  }
  return from;
}

// Up to so many runs after `from`, but not after `not_after`.
Run JointMoves::ahead(const JointEdit& edit, Run from, Run not_after, int steps) const {
  for (; steps > 0 && from != none && from != not_after; --steps) from = edit.line().next(from);
  return from;
}

void JointMoves::drop(JointEdit& edit, Run over) {
  for (int attempt = 0; attempt < drop_attempts; ++attempt) {
    const int item = static_cast<int>(random_.below(problem_.items.size()));
    const auto& makers = lowered_.makers[at(item)];
    const Timeline& line = edit.line_of(item);
    const auto events = line.events(item);
    const bool pinned = problem_.items[at(item)].pinned;
    const std::size_t ends = events.size() + pinned;
    if (ends < 2 || makers.empty()) continue;
    std::size_t k = 1 + random_.below(ends - 1);  // the event that ends the gap
    if (over != none) {
      k = at(line.events_before(item, over));
      if (k < events.size() && events[k].run == over && edit.could_overwrite(over, item)) ++k;
      if (k == 0 || k >= ends || (k < events.size() && events[k].run == over)) continue;
    }
    if (k < events.size() && events[k].make) continue;
    const Run last = events[k - 1].run;
    Run next = k < events.size() ? events[k].run : none;
    if (next != none && edit.part(next) == Part::end && edit.partner(next) == last) continue;  // under way
    // Next to each other nothing is gained, unless the first may then write over it.
    if (line.next(last) == next && !edit.could_overwrite(last, item)) continue;
    if (next != none && random_.below(4) == 0) next = back(edit, next, last, distance());
    const int task = makers[random_.below(makers.size())];
    if (!edit.may_run(task, next)) continue;
    int most = 1 << random_.below(5);
    most = std::min(most, most_runs);
    if (!bring(edit, task, last, next, most)) edit.undo();
    return;
  }
}

bool JointMoves::bring(JointEdit& edit, int t, Run last, Run next, int& most) {
  const JointTask& task = problem_.tasks[at(t)];
  // What was never made is made right behind the use that begins the gap.
  for (int item : task.uses) {
    const Run limit = next;
    if (edit.line_of(item).events(item).empty() || (limit != none && !edit.is_made_before(item, limit))) {
      last = provide(edit, item, last, limit, most);
      if (last == none) return false;
    }
  }
  Run run = none;
  if (lowered_.is_async(t)) {
    // Some way ahead of its end, but not before what it reads is there.
    last = edit.ready_after(t, last, next);
    if (next != none && !edit.line().earlier(last, next)) return false;
    const Run begin_next = next == none ? edit.line().next(last) : back(edit, next, last, distance());
    run = edit.insert(t, begin_next, next);
  } else {
    run = edit.insert(t, next);
  }
  --most;
  for (int item : task.uses) {
    if (most <= 0) return true;
    const Timeline& line = edit.line_of(item);
    const auto events = line.events(item);
    std::size_t k = at(line.events_before(item, run)) + 1;
    while (k < events.size() && events[k].run == edit.partner(run)) ++k;
    const bool read_later = k < events.size() ? !events[k].make : problem_.items[at(item)].pinned;
    const std::size_t before = at(line.events_before(item, run));
    if (read_later || before == 0) continue;
    const Run source_last = events[before - 1].run;
    if (line.next(source_last) == run || random_.below(2) == 0) continue;
    const auto& makers = lowered_.makers[at(item)];
    const int source = makers[random_.below(makers.size())];
    if (edit.may_run(source, run) && !bring(edit, source, source_last, run, most)) return false;
  }
  return true;
}

Run JointMoves::provide(JointEdit& edit, int item, Run last, Run next, int& most) {
  const auto& makers = lowered_.makers[at(item)];
  if (makers.empty() || most <= 0) return none;
  const int t = makers[random_.below(makers.size())];
  for (int source : problem_.tasks[at(t)].uses) {
    const Run place = edit.line().next(last);
    const bool there =
        place == none ? !edit.line_of(source).events(source).empty() : edit.is_made_before(source, place);
    if (there) continue;
    last = provide(edit, source, last, next, --most);
    if (last == none) return none;
  }
  const Run place = edit.line().next(last);
  if (!edit.may_run(t, place)) return none;
  --most;
  if (!lowered_.is_async(t)) return edit.insert(t, place);
  // It may begin as soon as what it reads is there: that takes no memory, only the lane.
  const Run begin = random_.below(2) ? place : edit.line().next(edit.ready_after(t, none, place));
  return edit.partner(edit.insert(t, begin, ahead(edit, place, next, distance())));
}

void JointMoves::restore(JointEdit& edit) {
  const auto extras = edit.extras();
  if (!extras.empty()) edit.erase(extras[random_.below(extras.size())]);
}

void JointMoves::exchange(JointEdit& edit) {
  const auto extras = edit.extras();
  if (extras.empty()) return;
  const Run run = extras[random_.below(extras.size())];
  const auto& makes = problem_.tasks[at(edit.task(run))].makes;
  if (makes.empty() || edit.sole_reader(run) != none) return;
  const int item = makes[random_.below(makes.size())];
  const auto& makers = lowered_.makers[at(item)];
  const int task = makers[random_.below(makers.size())];
  const Timeline& line = edit.line_of(item);
  // Whoever reads the version that goes.
  std::size_t k = at(line.events_before(item, run)) + 1;
  const auto reads_it = [&](std::size_t event) {
    return event < line.events(item).size() && line.events(item)[event].run == edit.partner(run);
  };
  while (reads_it(k)) ++k;
  if (k >= line.events(item).size() || line.events(item)[k].make || task == edit.task(run)) return;
  const Run next = line.events(item)[k].run;
  edit.erase(run);
  const int before = line.events_before(item, next);
  if (before == 0 || !edit.may_run(task, next)) return;
  const Run last = line.events(item)[at(before) - 1].run;
  if (line.next(last) == next) return;
  int most = 1 << random_.below(4);
  if (!bring(edit, task, last, next, most)) edit.undo();
}

void JointMoves::shift(JointEdit& edit) {
  const auto extras = edit.extras();
  if (extras.empty()) return;
  Run run = extras[random_.below(extras.size())];
  if (edit.partner(run) != none && random_.below(2)) run = edit.partner(run);
  Run place = none;
  if (random_.below(2)) {
    place = ahead(edit, edit.line().next(run), none, 1 + distance());
  } else {
    place = back(edit, run, none, 1 + distance());
  }
  if (place == run || !edit.may_move(run, place)) return;
  edit.move(run, place);
}

}  // namespace tidemark
