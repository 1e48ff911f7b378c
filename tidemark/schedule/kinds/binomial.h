// The least number of advances for one level of states and a known number of steps.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> binomial_schedule(const Question& question);

}  // namespace tidemark::schedule
