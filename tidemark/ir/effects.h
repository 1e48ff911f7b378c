// How often a node may run and in which order: the facts `Op::effect` and `Op::replay`, for a node with all
// that stands in its regions, at any depth. Whoever drops, merges, moves or repeats nodes asks here.
//
//   has_effects         may not be dropped, merged or moved past another of its domain
//   !is_repeatable      may not run again: an effect that happens once, or results that would be others
//   is_pure             neither: one run may stand for two, at any time
//
// A loop or branch whose derivative runs its region again does so for the values alone: `for_replay`.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Does running the node do more than compute its results?
bool has_effects(const Node& node);
// Where it does: each domain once, sorted.
std::vector<std::string_view> effect_domains(const Node& node);

// May the node run again? Then the world and its results are as if it had not.
bool is_repeatable(const Node& node);
bool is_repeatable(const Graph& region);  // all of its nodes

// Repeatable and without effects: it may be merged with its like, computed early or not at all.
bool is_pure(const Node& node);

// The order among effects, for whoever walks nodes in an order that keeps it.
class EffectOrder {
 public:
  // The last ones in the node's domains, which it must follow; `number` is the last there from now on.
  std::vector<int> follow(const Node& node, int number);

 private:
  std::vector<std::pair<std::string_view, int>> last_;  // per domain
};

// A region that is run again to get its values back, as the gradient of a branch and of a loop's step does.
// Its inputs from `fresh` on are new (gradients that arrive): what depends on them has not run and is left
// as it is. Of the rest, what the outputs need runs again, and effects that nobody needs are left out.
inline constexpr std::size_t nothing_fresh = static_cast<std::size_t>(-1);
// Effects that read a gradient belong to the gradient's part, all others have happened.
Graph for_replay(const Graph& region, std::size_t fresh = nothing_fresh);
// The first node that stands in the way of that: it would have to run again and may not. nullptr: none does.
const Node* first_unreplayable(const Graph& region, std::size_t fresh = nothing_fresh);

// Per node: do the outputs depend on it, or one of the nodes that are `kept` whoever reads them?
std::vector<bool> needed_nodes(const Graph& graph, const std::vector<bool>& kept);
// The graph without the other nodes, which nobody reads.
Graph with_nodes(const Graph& graph, const std::vector<bool>& needed);

}  // namespace tidemark
