// Changes to a timeline that can be taken back: what a search tries, it either keeps or undoes as a whole.
#pragma once
#include <vector>

#include "tidemark/solve/remat/timeline.h"

namespace tidemark {

class TimelineEdit {
 public:
  using Run = Timeline::Run;

  TimelineEdit(const RematProblem& problem, std::span<const int> sequence);

  const Timeline& now() const { return line_; }
  // The runs that are not the first of their task, in no order.
  std::span<const Run> repeats() const { return repeats_; }
  bool is_repeat(Run run) const { return place_[static_cast<std::size_t>(run)] >= 0; }

  // May `task` run again right before `next`?
  bool may_insert(int task, Run next) const;
  Run insert(int task, Run next);
  void erase(Run run);
  // Erases a repeat, and then every repeat whose results nobody reads any more because of it.
  void erase_with_idle(Run run);
  // Moves the first run of a task to right before `next`, which leaves it the first; the caller has checked
  // that the order allows it.
  Run relocate(Run run, Run next);

  void keep() { journal_.clear(); }
  void undo();  // everything since the last keep()
  bool changed() const { return !journal_.empty(); }
  // What the changes since the last keep() or undo() took, in units of about half a microsecond.
  std::int64_t spent() const;

 private:
  struct Change {
    bool inserted, repeat;
    Run run;
    int task;
    Run next;  // of an erased run: what followed it
  };
  void note_repeat(Run run);
  void forget_repeat(Run run);
  bool is_idle(Run run) const;

  const RematProblem* problem_;
  Timeline line_;
  std::vector<Run> repeats_;
  std::vector<int> place_;  // per run: its index in repeats_, -1 when it is none
  std::vector<Change> journal_;
};

}  // namespace tidemark
