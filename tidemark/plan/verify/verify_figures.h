// The verifier's part on figures: what a plan says of its bytes, its load and its work is counted again.
#pragma once
#include <span>

#include "tidemark/ir/target.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// `highest_load` has an entry per memory, of its arena (verify_overlaps). What steps cost is looked at only
// where nothing was found before: costs are facts about sound steps.
void verify_figures(const Graph& graph, const Plan& plan, const Target& target,
                    std::span<const std::int64_t> highest_load, ProblemList& problems);

}  // namespace tidemark
