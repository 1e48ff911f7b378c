// Loops of a graph with what reverses them: what there is to decide, and where.
#pragma once
#include <map>

#include "tidemark/ir/graph.h"

namespace tidemark {

bool is_kept_loop(const Node& node);
bool is_kept_while(const Node& node);

// Of a loop whose length is not known: more save little time, and choosing among them takes some.
inline constexpr std::int64_t most_slots = 4096;

// The reversals by the loop they belong to: the only reader of its snapshots.
std::map<std::uint32_t, NodeId> loop_pairs(const Graph& graph);

// The nodes at which something is left to decide, with their numbers. A reversal goes by the number of its
// loop.
std::map<std::uint32_t, std::size_t> loop_numbers(const Graph& graph,
                                                  const std::map<std::uint32_t, NodeId>& pairs);

std::int64_t state_bytes(const Graph& graph, const Node& loop);        // of one state of a counted loop
std::int64_t while_state_bytes(const Graph& graph, const Node& loop);  // of one of unknown length

}  // namespace tidemark
