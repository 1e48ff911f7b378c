// A graph in a few parts that a person has names for: layers, by the parameters that are read there
// ("blocks.3"), or, where parameters have no names, the lines of the program.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/report/phases.h"

namespace tidemark {

struct GraphRegions {
  std::vector<std::string> names = {};     // in the order of the forward pass
  std::vector<std::int32_t> of_node = {};  // number of the region; -1: none
};
// At most `most` of them: the finest parts that are no more.
GraphRegions regions_of(const Graph& graph, const std::vector<Phase>& phases, std::size_t most = 24);

}  // namespace tidemark
