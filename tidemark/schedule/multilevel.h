// States on several levels of different costs, or on any number of slots of the last: least cost by dynamic programming.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> multilevel_schedule(const Question& question);
std::unique_ptr<Schedule> disk_schedule(const Question& question);  // the last level is without limit

}  // namespace tidemark::schedule
