// The part of the verifier that knows of effects. It reads the facts of ops and shares no code with the
// passes, which ask ir/effects.h.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/plan/verify/problem_list.h"

namespace tidemark {

// Reports what is wrong with how often and in which order nodes run: an effect never runs; what may run once
// runs again; first runs of a domain are not in the order of the graph. A node does what stands in its
// regions; their own plans are judged like any other. Says nothing of a plan whose steps name nodes that the
// graph does not have.
void verify_effects(const Graph& graph, const Plan& plan, ProblemList& problems);

// Pairs of steps of which the first must have ended before the second begins: neighbours, as listed, of each
// domain.
std::vector<std::pair<std::size_t, std::size_t>> effect_pairs(const Graph& graph, const Plan& plan);

}  // namespace tidemark
