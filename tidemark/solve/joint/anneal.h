// Simulated annealing over joint schedules: items leave memory for a gap and come back by whichever maker,
// ways there and back come, go, move and change, choices change their mode.
#pragma once
#include "tidemark/solve/joint/lowered.h"
#include "tidemark/solve/work.h"

namespace tidemark {

struct JointAnnealOptions {
  std::uint64_t seed = 1;
  double hot = 1, cold = 0.01;  // temperatures, as multiples of the mean cost of a choice
};
// The shortest schedule within all budgets that it met, the start if that is; empty when there was none.
JointSchedule anneal(const Lowered& lowered, const JointSchedule& start, const JointAnnealOptions& options,
                     Work& work);

}  // namespace tidemark
