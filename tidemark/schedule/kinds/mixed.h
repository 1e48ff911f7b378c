// States and records of unequal size in the bytes of one level (Maddison, 2024): least forward steps by
// dynamic programming over the bytes that are left.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// Where the level is given in slots, a state and a record take one each. Throws `bad_schedule` where the
// table would be too large.
std::unique_ptr<Schedule> mixed_schedule(const Question& question);

}  // namespace tidemark::schedule
