// Counts what a stream does, for kinds whose figures have no closed form.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// Fills in advances, recorded, peaks, writes, reads and cost of a promise whose lists are as long as the
// levels.
void tally(const Question& question, ActionStream& actions, Promise& promise);

}  // namespace tidemark::schedule
