// How often a node may run. What says `replay = never` runs once, and so does what has effects; a loop or
// branch is bound by whatever stands in its regions, at any depth.
#pragma once
#include "tidemark/ir/graph.h"

namespace tidemark {

// Does running the node do more than compute its results?
bool has_effects(const Node& node);

// May the node run again, or one run of it stand for two? Not if it, or a node in its regions, has effects or
// says never.
bool is_repeatable(const Node& node);
bool is_repeatable(const Graph& region);  // all of its nodes

// A node that the region's outputs depend on and that may not run again; nullptr: there is none.
const Node* first_unrepeatable(const Graph& region);

}  // namespace tidemark
