// The verifier's part on buffers: each by itself, and where they lie together. The parts that play steps take
// the buffers' numbers at their word, so this one comes first.
#pragma once
#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// For a plan whose memories are sound. Every buffer's life, size and binding; every input is bound once.
void verify_buffers(const Graph& graph, const Plan& plan, ProblemList& problems);

// For a plan whose buffers are sound: in the arena of a memory no two overlap that are alive at one step of
// the list. Returns the highest load of that arena.
std::int64_t verify_overlaps(const Plan& plan, std::size_t memory, ProblemList& problems);

}  // namespace tidemark
