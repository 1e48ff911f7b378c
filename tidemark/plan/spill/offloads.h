// What the user asks to wait on the disk (HintKind::offload), in a spill problem. Over the longest gap in
// which no kernel touches it, such a value is two items: the one that leaves, and the one that returns. Only
// the way over the disk makes the second, so that every schedule takes it; when, and what else moves, is the
// search's.
//
//   kernels   a   x=b   c(x)  d   e   f   g(x)             x      ├──────┤
//   the gap             ├───────────────┤                  disk      ├─────────┤
//                                                          x'              ├───────┤
#pragma once
#include "tidemark/plan/spill/problem.h"

namespace tidemark {

// Does a plan of one memory have hints that ask for the disk, still without an answer?
bool has_offloads(const Plan& plan);
// The plan as it is, which is then the answer.
Plan without_offloads(Plan plan);

// Takes what is asked into the problem, which has kernels and no moves yet, as far as the disk has room, and
// answers in `hints`. A start for the searches comes with it, within the `allowed` bytes of the arena if that
// is a matter of when copies are waited for.
void take_offloads(SpillProblem& problem, const Graph& graph, const std::vector<Tier>& tiers,
                   std::int64_t allowed, std::vector<HintReport>& hints);

}  // namespace tidemark
