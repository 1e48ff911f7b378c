// The changes that a search of joint schedules tries, drawn at random. A change may leave the schedule
// unsound (JointEdit::is_sound): the caller looks and takes it back.
#pragma once
#include "tidemark/solve/joint/edit.h"
#include "tidemark/solve/random.h"

namespace tidemark {

class JointMoves {
 public:
  JointMoves(const Lowered& lowered, std::uint64_t seed)
      : lowered_(lowered), problem_(*lowered.problem), random_(seed) {}

  Random& random() { return random_; }

  // An item leaves its memory for a gap, at `over` unless that is none, and some maker brings it back before
  // the use that ends the gap.
  void drop(JointEdit& edit, JointEdit::Run over);
  // An extra goes, with what depends on it alone.
  void restore(JointEdit& edit);
  // What an extra makes is made by another maker in its place.
  void exchange(JointEdit& edit);
  // An extra, or one end of it, moves a few runs away.
  void shift(JointEdit& edit);

 private:
  using Run = JointEdit::Run;

  int distance();  // of runs; small ones and none mostly
  Run back(const JointEdit& edit, Run from, Run not_before, int steps) const;
  Run ahead(const JointEdit& edit, Run from, Run not_after, int steps) const;
  // Puts a run of `task` in that has ended right before `next` and begins after `last`; then what it needs.
  bool bring(JointEdit& edit, int task, Run last, Run next, int& most);
  // Makes an item that was never made, right after `last` and before `next`. Returns the run after which it
  // is there; none: it cannot be.
  Run provide(JointEdit& edit, int item, Run last, Run next, int& most);

  const Lowered& lowered_;
  const JointProblem& problem_;
  Random random_;
};

}  // namespace tidemark
