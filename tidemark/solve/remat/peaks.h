// What the heaviest moments of a fixed order cost. At the first run of a task, what is made before and needed
// after is alive or is made again later; what exceeds the budget must be made again, at the least cost that
// gives enough bytes (cover.h). The dearest moment is a bound, for the whole problem and for the part before
// any point of it.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/solve/remat/cover.h"
#include "tidemark/solve/remat/problem.h"

namespace tidemark {

class RematPeaks {
 public:
  // Of a problem with a fixed order. Its first `prior` tasks have run before all moments of interest.
  explicit RematPeaks(const RematProblem& problem, int prior = 0);

  // Cost of repeated runs that come before the first run of `front` (or the end) and after that of an earlier
  // task, given the items that must be alive before `front`. Infinite if there are not enough bytes to be
  // had.
  double repeats_needed(int front, const std::vector<int>& alive);
  std::int64_t visits() const { return visits_; }  // items looked at so far

 private:
  struct Moment {
    double cost;
    int task;
  };
  std::int64_t gain_of(int maker, int task) const;
  double cost_of(int task, int nodes);

  const RematProblem& problem_;
  const OrderModel& model_;
  const int prior_;
  std::vector<int> maker_;                  // per item; -1: before all tasks
  std::vector<int> closed_;                 // per task: the first task after which it may not run again
  std::vector<std::int64_t> own_;           // per task: its scratch, operands, results, less the budget
  std::vector<std::vector<int>> takeable_;  // per task: operands it may overwrite if they die
  std::vector<int> end_;                    // per item: it is needed after the tasks before this one
  std::vector<std::int64_t> over_;          // per task: bytes over the budget
  std::vector<Moment> moments_;
  std::vector<Gain> gains_;
  std::int64_t visits_ = 0;
};

}  // namespace tidemark
