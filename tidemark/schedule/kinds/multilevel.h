// States on several levels of different costs, or on any number of slots of the last: least cost by dynamic
// programming.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> multilevel_schedule(const Question& question);
// As if the last level had no limit; where it has, what that takes must fit.
std::unique_ptr<Schedule> disk_schedule(const Question& question);

}  // namespace tidemark::schedule
