// Edges as a file gives them, and whether they make a graph whose nodes stand in a valid order.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tidemark/solve/dag/dag.h"

namespace tidemark {

struct RawEdge {
  std::int64_t producer = 0, consumer = 0;
  std::uint32_t line = 0;  // of the file
};

// The edges sorted and each once. Throws Error where one has no node at its end, leads to itself or
// backwards; a cycle is told with its nodes.
std::vector<DagEdge> checked_edges(const Dag& dag, const std::vector<RawEdge>& edges, std::string_view file);

}  // namespace tidemark
