// The state in the middle is stored, again and again, until the slots are used up: what many systems do, for
// comparison.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> bisection_schedule(const Question& question);

}  // namespace tidemark::schedule
