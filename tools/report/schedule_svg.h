// The staircase: which step the working state is at after each action, where states lie meanwhile, and how
// far the reverse has come. Long schedules are drawn pixel by pixel, very long ones as far as can be followed
// in seconds.
#pragma once
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::cli {

std::string schedule_svg(const schedule::Schedule& schedule);

}  // namespace tidemark::cli
