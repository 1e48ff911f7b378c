#include "tidemark/solve/remat/timeline_edit.h"

#include "tidemark/base/check.h"
#include "tidemark/solve/at.h"

namespace tidemark {
TimelineEdit::TimelineEdit(const RematProblem& problem, std::span<const int> sequence)
    : problem_(&problem), line_(problem, sequence), place_(sequence.size(), -1) {
  for (int t = 0; t < problem.model.tasks; ++t) {
    for (Run run : line_.runs_of(t).subspan(1)) note_repeat(run);
  }
}

bool TimelineEdit::may_insert(int task, Run next) const {
  if (!problem_->repeatable[at(task)]) return false;
  for (int closer : problem_->closed_by[task]) {
    if (next == Timeline::none || line_.earlier(line_.runs_of(closer).front(), next)) return false;
  }
  return true;
}

void TimelineEdit::note_repeat(Run run) {
  if (place_.size() <= at(run)) place_.resize(at(run) + 1, -1);
  place_[at(run)] = static_cast<int>(repeats_.size());
  repeats_.push_back(run);
}

void TimelineEdit::forget_repeat(Run run) {
  const int k = place_[at(run)];
  if (k < 0) return;
  repeats_[at(k)] = repeats_.back();
  place_[at(repeats_[at(k)])] = k;
  repeats_.pop_back();
  place_[at(run)] = -1;
}

TimelineEdit::Run TimelineEdit::insert(int task, Run next) {
  const Run run = line_.insert(task, next);
  journal_.push_back({true, true, run, task, Timeline::none});
  note_repeat(run);
  return run;
}

void TimelineEdit::erase(Run run) {
  journal_.push_back({false, true, run, line_.task(run), line_.next(run)});
  forget_repeat(run);
  line_.erase(run);
}

bool TimelineEdit::is_idle(Run run) const {
  if (place_[at(run)] < 0) return false;
  const OrderModel& model = problem_->model;
  for (int item : model.makes[line_.task(run)]) {
    const auto events = line_.events(item);
    const std::size_t k = at(line_.events_before(item, run)) + 1;
    if (k < events.size() ? !events[k].make : model.pinned[at(item)]) return false;
  }
  return true;
}

void TimelineEdit::erase_with_idle(Run run) {
  std::vector<Run> doomed{run};
  std::vector<std::pair<int, Run>> sources;
  while (!doomed.empty()) {
    const Run next = doomed.back();
    doomed.pop_back();
    sources.clear();
    for (int item : problem_->model.uses[line_.task(next)]) {
      const auto events = line_.events(item);
      std::size_t k = at(line_.events_before(item, next));
      while (k > 0 && !events[k - 1].make) --k;
      if (k > 0) sources.emplace_back(item, events[k - 1].run);
    }
    erase(next);
    for (const auto& [item, source] : sources) {
      if (!is_idle(source)) continue;
      bool listed = false;
      for (Run other : doomed) listed |= other == source;
      if (!listed) doomed.push_back(source);
    }
  }
}

TimelineEdit::Run TimelineEdit::relocate(Run run, Run next) {
  TM_DCHECK(line_.is_first(run));
  const Run moved = line_.insert(line_.task(run), next);
  journal_.push_back({true, false, moved, line_.task(run), Timeline::none});
  if (place_.size() <= at(moved)) place_.resize(at(moved) + 1, -1);
  journal_.push_back({false, false, run, line_.task(run), line_.next(run)});
  line_.erase(run);
  return moved;
}

std::int64_t TimelineEdit::spent() const {
  std::int64_t units = 0;
  for (const Change& change : journal_) {
    units += 1 + static_cast<std::int64_t>(problem_->model.uses[change.task].size()) / 4;
  }
  return units;
}

void TimelineEdit::undo() {
  while (!journal_.empty()) {
    const Change change = journal_.back();
    journal_.pop_back();
    if (change.inserted) {
      forget_repeat(change.run);
      line_.erase(change.run);
    } else {
      const Run run = line_.insert(change.task, change.next);
      TM_DCHECK(run == change.run);
      if (change.repeat) note_repeat(run);
    }
  }
}

}  // namespace tidemark
