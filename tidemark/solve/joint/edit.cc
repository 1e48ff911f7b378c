#include "tidemark/solve/joint/edit.h"

#include <algorithm>

#include "tidemark/base/check.h"

namespace tidemark {

JointEdit::JointEdit(const Lowered& lowered, const JointSchedule& schedule)
    : lowered_(&lowered),
      problem_(lowered.problem),
      partner_(schedule.size(), none),
      place_(schedule.size(), -1),
      base_of_(schedule.size(), -1),
      base_run_(lowered.problem->required.size(), none),
      lane_free_(at(lowered.problem->lanes), 0) {
  const Sequence sequence = lowered.lower(schedule);
  for (const RematProblem& memory : lowered.memory) lines_.emplace_back(memory, sequence);
  std::vector<Run> begun(problem_->tasks.size(), none);
  for (Run run = 0; run < static_cast<Run>(schedule.size()); ++run) {
    const auto [t, part] = schedule[at(run)];
    if (part == Part::end) {
      pair(begun[at(t)], run);
      continue;
    }
    begun[at(t)] = run;
    const int choice = lowered.choice[at(t)];
    if (choice >= 0 && base_run_[at(choice)] == none) {
      base_run_[at(choice)] = run;
      base_of_[at(run)] = choice;
    } else {
      note_extra(run);
    }
  }
}

void JointEdit::pair(Run begin, Run end) {
  partner_[at(begin)] = end;
  partner_[at(end)] = begin;
}

void JointEdit::note_extra(Run run) {
  place_[at(run)] = static_cast<int>(extras_.size());
  extras_.push_back(run);
}

void JointEdit::forget_extra(Run run) {
  const int k = place_[at(run)];
  if (k < 0) return;
  extras_[at(k)] = extras_.back();
  place_[at(extras_[at(k)])] = k;
  extras_.pop_back();
  place_[at(run)] = -1;
}

bool JointEdit::may_run(int t, Run next) const {
  const JointTask& task = problem_->tasks[at(t)];
  const int choice = lowered_->choice[at(t)];
  if (choice >= 0) {
    if (!task.repeatable) return false;
    if (next != none && !line().earlier(base_run_[at(choice)], next)) return false;
  }
  return std::ranges::none_of(task.closed_by,
                              [&](int c) { return next == none || line().earlier(base_run_[at(c)], next); });
}

bool JointEdit::could_overwrite(Run run, int item) const {
  return std::ranges::any_of(problem_->tasks[at(task(run))].reuses,
                             [&](const InPlaceReuse& pair) { return pair.used == item; });
}

JointEdit::Run JointEdit::put(int lowered, Run next) {
  Run run = none;
  for (Timeline& line : lines_) run = line.insert(lowered, next);
  if (partner_.size() <= at(run)) {
    partner_.resize(at(run) + 1, none);
    place_.resize(at(run) + 1, -1);
    base_of_.resize(at(run) + 1, -1);
  }
  partner_[at(run)] = none;
  base_of_[at(run)] = -1;
  journal_.push_back({true, run, lowered, none, none, false, -1});
  spent_ += static_cast<std::int64_t>(lines_.size());
  return run;
}

void JointEdit::take(Run run) {
  journal_.push_back(
      {false, run, line().task(run), line().next(run), partner_[at(run)], is_extra(run), base_of_[at(run)]});
  forget_extra(run);
  for (Timeline& line : lines_) line.erase(run);
  partner_[at(run)] = none;
  base_of_[at(run)] = -1;
  spent_ += static_cast<std::int64_t>(lines_.size());
}

JointEdit::Run JointEdit::insert(int t, Run next) {
  const Run run = put(lowered_->first[at(t)], next);
  note_extra(run);
  return run;
}

JointEdit::Run JointEdit::insert(int t, Run begin_next, Run end_next) {
  const Run begin = put(lowered_->first[at(t)], begin_next);
  const Run end = put(lowered_->end_of(t), end_next);
  pair(begin, end);
  note_extra(begin);
  return begin;
}

JointEdit::Run JointEdit::made_by(int item, Run reader) const {
  const Timeline& line = line_of(item);
  const auto events = line.events(item);
  std::size_t k = at(line.events_before(item, reader));
  while (k > 0 && !events[k - 1].make) --k;
  return k > 0 ? events[k - 1].run : none;
}

JointEdit::Run JointEdit::ready_after(int t, Run last, Run next) const {
  for (int item : problem_->tasks[at(t)].uses) {
    const Timeline& line = line_of(item);
    const auto events = line.events(item);
    std::size_t k = next == none ? events.size() : at(line.events_before(item, next));
    while (k > 0 && !events[k - 1].make) --k;
    if (k == 0) continue;
    const Run maker = events[k - 1].run, there = partner(maker) == none ? maker : partner(maker);
    if (last == none || line.earlier(last, there)) last = there;
  }
  return last;
}

// Does nobody but its own end read what the run makes?
bool JointEdit::is_idle(Run run) const {
  if (!is_extra(run)) return false;
  return std::ranges::none_of(problem_->tasks[at(task(run))].makes, [&](int item) {
    const auto events = line_of(item).events(item);
    std::size_t k = at(line_of(item).events_before(item, run)) + 1;
    while (k < events.size() && !events[k].make && events[k].run == partner(run)) ++k;
    return k < events.size() ? !events[k].make : problem_->items[at(item)].pinned;
  });
}

JointEdit::Run JointEdit::sole_reader(Run run) const {
  for (int item : problem_->tasks[at(task(run))].makes) {
    const auto events = line_of(item).events(item);
    if (events[0].run != run) continue;
    for (std::size_t k = 1; k < events.size() && !events[k].make; ++k) {
      const Run user = events[k].run;
      if (user != partner(run)) return part(user) == Part::end ? partner(user) : user;
    }
    if (problem_->items[at(item)].pinned && events.back().run == run) return base_run_.front();
  }
  return none;
}

void JointEdit::erase(Run extra) {
  std::vector<Run> doomed{extra};
  std::vector<Run> sources;
  while (!doomed.empty()) {
    const Run run = doomed.back();
    if (const Run reader = sole_reader(run); reader != none) {
      if (!is_extra(reader)) return;  // what is required reads it and nothing else
      doomed.push_back(reader);
      continue;
    }
    doomed.pop_back();
    sources.clear();
    for (int item : problem_->tasks[at(task(run))].uses) sources.push_back(made_by(item, run));
    if (const Run end = partner(run); end != none) take(end);
    take(run);
    for (Run source : sources) {
      if (source != none && is_idle(source) && !std::ranges::count(doomed, source)) doomed.push_back(source);
    }
  }
}

bool JointEdit::may_move(Run run, Run next) const {
  const JointTask& task = problem_->tasks[at(this->task(run))];
  const auto earlier = [&](Run a, Run b) { return b == none || line().earlier(a, b); };
  if (part(run) == Part::end) return earlier(partner(run), next);
  if (part(run) == Part::begin && earlier(partner(run), next)) return false;
  if (!may_run(this->task(run), next)) return false;
  const bool readable = std::ranges::all_of(task.uses, [&](int item) {
    const auto events = line_of(item).events(item);
    return !events.empty() && earlier(events[0].run, next);
  });
  return readable && std::ranges::none_of(task.makes, [&](int item) {
           const auto events = line_of(item).events(item);
           return events[0].run == run && events.size() > 1 && earlier(events[1].run, next);
         });
}

JointEdit::Run JointEdit::move(Run run, Run next) {
  const Run other = partner(run);
  const bool extra = is_extra(run);
  const int lowered = line().task(run);
  const Run moved = put(lowered, next);
  take(run);
  if (other != none) {
    partner_[at(moved)] = other;
    partner_[at(other)] = moved;
  }
  if (extra) note_extra(moved);
  return moved;
}

void JointEdit::switch_mode(int choice, int t) {
  const Run old = base_run_[at(choice)];
  const Run fresh = put(lowered_->first[at(t)], old);
  take(old);
  base_run_[at(choice)] = fresh;
  base_of_[at(fresh)] = choice;
}

bool JointEdit::is_sound(int item) const {
  bool made = false;
  Run making = none;  // the end of the run of another lane that makes it now
  int reading = 0;    // runs of other lanes that read it now
  for (const Timeline::Event& event : line_of(item).events(item)) {
    if (making != none) {
      if (event.run != making) return false;
      making = none;
      made = true;
    } else if (event.make) {
      if (reading > 0) return false;
      making = part(event.run) == Part::begin ? partner(event.run) : none;
      made = making == none;
    } else {
      if (!made) return false;
      if (part(event.run) == Part::begin) ++reading;
      if (part(event.run) == Part::end) --reading;
    }
  }
  return making == none;
}

bool JointEdit::is_sound() const {
  for (const Change& change : journal_) {
    const auto& [t, part] = lowered_->entry[at(change.lowered)];
    const JointTask& task = problem_->tasks[at(t)];
    for (int item : task.uses) {
      if (!is_sound(item)) return false;
    }
    for (int item : task.makes) {
      if (!is_sound(item)) return false;
    }
  }
  return true;
}

void JointEdit::keep() {
  journal_.clear();
  spent_ = 0;
}

void JointEdit::undo() {
  while (!journal_.empty()) {
    const Change change = journal_.back();
    journal_.pop_back();
    if (change.inserted) {
      forget_extra(change.run);
      base_of_[at(change.run)] = -1;
      for (Timeline& line : lines_) line.erase(change.run);
      partner_[at(change.run)] = none;
      continue;
    }
    Run run = none;
    for (Timeline& line : lines_) run = line.insert(change.lowered, change.next);
    TM_DCHECK(run == change.run);
    if (change.partner != none) {
      partner_[at(run)] = change.partner;
      partner_[at(change.partner)] = run;
    }
    base_of_[at(run)] = change.base_of;
    if (change.base_of >= 0) base_run_[at(change.base_of)] = run;
    if (change.extra) note_extra(run);
  }
  spent_ = 0;
}

double JointEdit::play(std::vector<double>* begins) const {
  std::ranges::fill(lane_free_, 0);
  ends_.resize(partner_.size());
  if (begins) begins->resize(partner_.size());
  double now = 0;
  for (Run run = line().first(); run != none; run = line().next(run)) {
    const auto& [t, part] = entry(run);
    const JointTask& task = problem_->tasks[at(t)];
    if (begins) (*begins)[at(run)] = now;
    if (part == Part::whole) {
      now += task.cost;
    } else if (part == Part::begin) {
      double& free = lane_free_[at(task.lane)];
      ends_[at(run)] = free = std::max(free, now) + task.cost;
    } else {
      now = std::max(now, ends_[at(partner(run))]);
    }
  }
  return now;
}

double JointEdit::makespan() const { return problem_->lanes == 1 ? line().cost() : play(nullptr); }

std::vector<double> JointEdit::begins() const {
  std::vector<double> begins;
  play(&begins);
  return begins;
}

JointSchedule JointEdit::schedule() const {
  JointSchedule schedule;
  for (int lowered : line().sequence()) schedule.push_back(lowered_->entry[at(lowered)]);
  return schedule;
}

}  // namespace tidemark
