// The cheapest kind for a known number of steps that fits.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// Records are kept in slots only where level 0 is given in bytes and a record's size is known: a slot by
// itself holds a state.
std::unique_ptr<Schedule> automatic_schedule(const Question& question);

}  // namespace tidemark::schedule
