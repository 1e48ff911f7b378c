// States go to the last level while steps run, as often as it can take them: every ⌈transfer / step⌉ steps
// (Kukreja et al., 2018). Between them level 0 is used best. Nobody waits for a transfer, so that none is in
// the cost.
#pragma once
#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

std::unique_ptr<Schedule> background_schedule(const Question& question);

// The distance between states that the costs of the last level allow.
Step background_interval(const Question& question);

}  // namespace tidemark::schedule
