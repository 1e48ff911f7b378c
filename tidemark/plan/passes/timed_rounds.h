// Planning with a limit in seconds: rounds of doubling effort, each from the best so far, until time is up or
// the best is proved to be one. What a round has found when time is up counts as well.
#pragma once
#include <functional>

#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

using PlanRound = std::function<Result<Plan, Infeasible>(const PlanOptions&)>;

// `options.control` has the limit; its effort plays no part.
Result<Plan, Infeasible> best_in_time(PlanOptions options, const PlanRound& round);

}  // namespace tidemark
