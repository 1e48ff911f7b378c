// The part of the verifier that knows of effects. It reads the facts of ops and shares no code with the
// passes, which ask ir/effects.h.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tidemark/plan/plan.h"

namespace tidemark {

// What is wrong with how often and in which order nodes run: an effect never runs; what may run once runs
// again; first runs of a domain are not in the order of the graph. A node does what stands in its regions;
// their own plans are judged like any other. For a plan whose steps name nodes of the graph.
std::vector<std::string> effect_problems(const Graph& graph, const Plan& plan);

// Pairs of steps of which the first must have ended before the second begins: neighbours, as listed, of each
// domain.
std::vector<std::pair<std::size_t, std::size_t>> effect_pairs(const Graph& graph, const Plan& plan);

}  // namespace tidemark
