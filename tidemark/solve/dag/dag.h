// Graphs with a cost and bytes per node and nothing else: what planners are compared on (docs/dag_format.md).
// One node is one value. Running it needs all its inputs and its result at once; a value is released after
// its last use, at once if it has none; any node may run again, every node runs at least once.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/solve/remat/problem.h"

namespace tidemark {

struct DagEdge {
  int producer = 0, consumer = 0;
  friend auto operator<=>(const DagEdge&, const DagEdge&) = default;
};

struct Dag {
  // Per node, in a valid order of execution.
  std::vector<std::string> names;
  std::vector<double> cost;  // of one run, in any unit; 0 or more
  std::vector<std::int64_t> bytes;
  std::vector<bool> backward;
  // Each once, sorted by consumer and producer; every producer stands before its consumer.
  std::vector<DagEdge> edges;

  int size() const { return static_cast<int>(names.size()); }
};

// All values together, and one alone, take at most this.
inline constexpr std::int64_t max_dag_bytes = std::int64_t{1} << 61;
// All costs together, so that running each node often stays a number.
inline constexpr double max_dag_cost = 1e300;
// Files above this are refused unread.
inline constexpr std::int64_t max_dag_file_bytes = std::int64_t{256} << 20;

// Edges that are there twice are merged. Errors name `origin`, the line, and the node or edge.
Dag dag_from_json(std::string_view text, std::string_view origin);
Dag read_dag(const std::string& path);
std::string to_json(const Dag& dag);

// "node 12 `conv1`": short and printable whatever the name holds.
std::string node_label(const Dag& dag, int node);

// Task i runs node i and makes item i. No limit of bytes, any order: for the caller to change.
RematProblem problem_of(const Dag& dag);

}  // namespace tidemark
