// Loops whose steps are stencils, on targets whose kernels work in tiles (Target::most_halo): one run of the
// body becomes several steps, so that one kernel computes them, and what passes between them stays in its
// tiles. A loop of n steps becomes one of n / k, and one of what remains.
//
// Which loops: those in which what is handed on is made of what is handed on by shifts and element by element
// alone, with as many steps at once as the halo allows. The steps, their order and their bits are the same.
// What several steps make lies in memory beside what they are made of, so the body takes more memory, and
// whoever plans has to choose (engine/loop_budget.h).
#pragma once
#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"

namespace tidemark {

// Of lowered loops. The graph as it is where there are none of that kind.
Graph take_several_steps(const Graph& graph, const Target& target);

// Would that change anything?
bool has_steps_to_join(const Graph& graph, const Target& target);

}  // namespace tidemark
