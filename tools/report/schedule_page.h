// The page of `tidemark schedule --html`: the staircase, and what it costs.
#pragma once
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::cli {

std::string schedule_page(const schedule::Schedule& schedule, bool in_bytes);

}  // namespace tidemark::cli
