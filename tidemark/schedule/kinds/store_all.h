// Every step's record is kept: no step is taken twice.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// Records fill the levels in order; without levels, one that is as large as needed. The last record is the
// working one.
std::unique_ptr<Schedule> store_all_schedule(const Question& question);

}  // namespace tidemark::schedule
