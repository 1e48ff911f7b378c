// A schedule of a joint problem that is being changed, with its loads in every memory and its makespan;
// changes are kept or taken back as a whole. Each memory has a timeline of its own over the same runs
// (solve/remat/timeline.h), so a run has the same name and place in all of them.
//
// The first run of each choice is its *base run*: it stays where it is and can only change its mode. All
// others are *extras*, which come, move and go.
#pragma once
#include <vector>

#include "tidemark/solve/at.h"
#include "tidemark/solve/joint/lowered.h"
#include "tidemark/solve/remat/timeline.h"

namespace tidemark {

class JointEdit {
 public:
  using Run = Timeline::Run;
  static constexpr Run none = Timeline::none;

  // `schedule` must be one (judge).
  JointEdit(const Lowered& lowered, const JointSchedule& schedule);

  const Timeline& line() const { return lines_[0]; }  // for what is the same in all
  const Timeline& line_of(int item) const { return lines_[memory_of(item)]; }
  std::span<const Timeline> lines() const { return lines_; }
  int task(Run run) const { return entry(run).task; }
  Part part(Run run) const { return entry(run).part; }
  Run partner(Run run) const { return partner_[at(run)]; }  // the other end; of a whole run none
  std::span<const Run> extras() const { return extras_; }   // ends are not listed: their begins are
  bool is_extra(Run run) const { return place_[at(run)] >= 0; }
  Run base_run(int choice) const { return base_run_[at(choice)]; }

  // May the task run right before `next`, going by closing and repeating?
  bool may_run(int task, Run next) const;
  // Has the item been made before `run`, whoever made it?
  bool is_made_before(int item, Run run) const { return line_of(item).events_before(item, run) > 0; }

  // Could the run write over the item, if it were not read later?
  bool could_overwrite(Run run, int item) const;

  // The later of `last` and the runs after which the task's operands, as they are before `next`, are there.
  Run ready_after(int task, Run last, Run next) const;

  Run insert(int task, Run next);                      // of the first lane
  Run insert(int task, Run begin_next, Run end_next);  // of another; returns the begin
  // One who reads what the run makes and has no earlier version to read; none: there is nobody.
  Run sole_reader(Run run) const;
  // Takes an extra out, with its other end, those extras that cannot do without it, and those that nobody
  // needs any more.
  void erase(Run extra);
  // Moves an extra, or one end of it, to right before `next`. Returns its new name.
  Run move(Run run, Run next);
  bool may_move(Run run, Run next) const;
  // Replaces the base run of a choice by another of its tasks.
  void switch_mode(int choice, int task);

  // Do all items that the changes touched have makers before their readers, and is none touched while another
  // lane makes it?
  bool is_sound() const;
  bool changed() const { return !journal_.empty(); }
  std::int64_t spent() const { return spent_; }  // of the changes, in units of about half a microsecond
  void keep();
  void undo();

  double makespan() const;             // plays the lanes
  std::vector<double> begins() const;  // per run: when the first lane gets there
  JointSchedule schedule() const;

 private:
  struct Change {
    bool inserted;
    Run run;
    int lowered;
    Run next;     // of an erased run: what followed it
    Run partner;  // as it was
    bool extra;
    int base_of;  // choice, -1: none
  };
  std::size_t memory_of(int item) const { return at(problem_->items[at(item)].memory); }
  const JointEntry& entry(Run run) const { return lowered_->entry[at(line().task(run))]; }
  Run put(int lowered, Run next);  // into all timelines
  void take(Run run);
  void note_extra(Run run);
  void forget_extra(Run run);
  void pair(Run begin, Run end);
  bool is_idle(Run run) const;
  bool is_sound(int item) const;
  Run made_by(int item, Run reader) const;  // the run that made what the reader reads
  double play(std::vector<double>* begins) const;

  const Lowered* lowered_;
  const JointProblem* problem_;
  std::vector<Timeline> lines_;
  std::vector<Run> partner_;  // per run
  std::vector<int> place_;    // per run: its index in extras_; -1: none
  std::vector<int> base_of_;  // per run: the choice whose base run it is; -1: none
  std::vector<Run> extras_;
  std::vector<Run> base_run_;  // per choice
  std::vector<Change> journal_;
  std::int64_t spent_ = 0;
  mutable std::vector<double> lane_free_, ends_;  // room for play
};

}  // namespace tidemark
