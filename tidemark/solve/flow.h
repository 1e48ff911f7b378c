// The largest flow from a source to a sink, and with it the cheapest cut between them (Ford & Fulkerson
// 1956): what picks, at the least cost, a set that is closed under "who is in it takes these along".
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

namespace tidemark {

// Blocking flows along shortest ways (Dinitz 1970). Whole numbers, so that it is the same flow everywhere.
class FlowNetwork {
 public:
  static constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max() / 4;

  explicit FlowNetwork(int nodes);

  int add_edge(int from, int to, std::int64_t capacity);  // its number, for `set_capacity`
  void set_capacity(int edge, std::int64_t capacity);     // and no flow through it

  // The flow at which no way from `source` to `sink` is left open, or, once `visits` edges have been looked
  // at, a smaller one; no cut is cheaper than either. `visits` comes down by those looked at.
  std::int64_t run(int source, int sink, std::int64_t& visits);
  // After a run to its end: is the node on the source's side of a cheapest cut, the one with the fewest
  // there?
  bool is_taken(int node) const { return level_[static_cast<std::size_t>(node)] >= 0; }

 private:
  struct Edge {
    int to, next;           // the node's next edge, or -1
    std::int64_t left = 0;  // of the capacity
  };
  bool find_levels(int source, int sink, std::int64_t& visits);
  std::int64_t block(int source, int sink, std::int64_t& visits);

  std::vector<Edge> edges_;  // each followed by its reverse
  std::vector<std::int64_t> capacity_;
  std::vector<int> first_, level_, current_, queue_, way_;
};

}  // namespace tidemark
