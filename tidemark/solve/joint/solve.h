// The search of the joint problem: recomputation alone (solve/remat), greedy unloading, and annealing from
// both, within an amount of work. A plain problem is handed to the searches of recomputation as it is.
#pragma once
#include "tidemark/solve/joint/problem.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {

struct JointResult {
  bool feasible = false;
  JointSchedule schedule;  // feasible: within the budgets; else the one that was least above them
  JointFigures figures;    // of the schedule
  double time_bound = 0;   // no schedule within the budgets has a shorter makespan
  std::int64_t work_units = 0;
  // What recomputation alone takes; none: it found nothing within the budget of the first memory.
  std::optional<double> recomputing_alone;
};
JointResult solve_joint(const JointProblem& problem, const RematLimits& limits = {});

}  // namespace tidemark
