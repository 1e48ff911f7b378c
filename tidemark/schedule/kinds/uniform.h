// States at equal distances. Where the records of one segment fit beside them, each segment is replayed once,
// the fewest segments that fit; otherwise each step of a segment is reached anew from its state.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> uniform_schedule(const Question& question);

}  // namespace tidemark::schedule
