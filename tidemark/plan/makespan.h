// When the steps of a plan begin and end, if each takes so long: lanes run side by side, a step begins when
// the one before it on its lane and all that it waits for have ended. A stall is time in which a lane with
// steps left runs none.
#pragma once
#include <span>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

struct Timetable {
  std::vector<double> begin, end;  // per step; those of a group are those of its kernel
  std::vector<double> stalled;     // per lane
  double makespan = 0;             // when the last step ends
};

// `seconds`: per step; a group takes as long as its steps together.
Timetable timetable(const Plan& plan, std::span<const double> seconds);

}  // namespace tidemark
