// The explorer page (plan/report/page.h) of a plan with the graph it is for, with what only the engine knows
// of it.
#pragma once
#include <string>
#include <vector>

#include "tidemark/plan/report/page_data.h"

namespace tidemark {

class Graph;

// How the loops of a prepared graph are reversed: the staircase of each (schedule/staircase.h) that is
// reversed from states; of one that is cut into segments, that of the first of them.
std::vector<std::string> loop_staircases(const Graph& graph);

// One plan, and its loops.
PageContent page_content(std::string title, const Graph& graph, const Plan& plan, const Target& target,
                         const Machine& machine);

}  // namespace tidemark
