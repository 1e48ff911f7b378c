#include "tidemark/solve/flow.h"

#include <algorithm>

#include "tidemark/solve/at.h"

namespace tidemark {

FlowNetwork::FlowNetwork(int nodes) : first_(at(nodes), -1), level_(at(nodes), -1), current_(at(nodes), -1) {}

int FlowNetwork::add_edge(int from, int to, std::int64_t capacity) {
  const int edge = static_cast<int>(edges_.size());
  edges_.push_back({.to = to, .next = first_[at(from)]});
  first_[at(from)] = edge;
  edges_.push_back({.to = from, .next = first_[at(to)]});
  first_[at(to)] = edge + 1;
  capacity_.resize(edges_.size(), 0);
  capacity_[at(edge)] = capacity;
  return edge;
}

void FlowNetwork::set_capacity(int edge, std::int64_t capacity) { capacity_[at(edge)] = capacity; }

bool FlowNetwork::find_levels(int source, int sink, std::int64_t& visits) {
  std::ranges::fill(level_, -1);
  queue_.assign(1, source);
  level_[at(source)] = 0;
  for (std::size_t k = 0; k < queue_.size(); ++k) {
    for (int e = first_[at(queue_[k])]; e >= 0; e = edges_[at(e)].next) {
      --visits;
      const Edge& edge = edges_[at(e)];
      if (edge.left == 0 || level_[at(edge.to)] >= 0) continue;
      level_[at(edge.to)] = level_[at(queue_[k])] + 1;
      queue_.push_back(edge.to);
    }
  }
  return level_[at(sink)] >= 0;
}

// Depth first along rising levels, without recursion: the way may be as long as the network is large.
std::int64_t FlowNetwork::block(int source, int sink, std::int64_t& visits) {
  current_ = first_;
  way_.clear();
  std::int64_t sum = 0;
  int here = source;
  while (visits > 0) {
    if (here == sink) {
      std::int64_t least = endless;
      for (int e : way_) least = std::min(least, edges_[at(e)].left);
      std::size_t full = way_.size();
      for (std::size_t k = way_.size(); k-- > 0;) {
        edges_[at(way_[k])].left -= least;
        edges_[at(way_[k] ^ 1)].left += least;
        if (edges_[at(way_[k])].left == 0) full = k;
      }
      visits -= static_cast<std::int64_t>(way_.size());
      sum += least;
      here = edges_[at(way_[full] ^ 1)].to;
      way_.resize(full);
      continue;
    }
    int& e = current_[at(here)];
    while (e >= 0) {
      --visits;
      const Edge& edge = edges_[at(e)];
      if (edge.left > 0 && level_[at(edge.to)] == level_[at(here)] + 1) break;
      e = edge.next;
    }
    if (e >= 0) {
      way_.push_back(e);
      here = edges_[at(e)].to;
    } else {
      if (way_.empty()) break;
      here = edges_[at(way_.back() ^ 1)].to;
      current_[at(here)] = edges_[at(way_.back())].next;
      way_.pop_back();
    }
  }
  return sum;
}

std::int64_t FlowNetwork::run(int source, int sink, std::int64_t& visits) {
  for (std::size_t e = 0; e < edges_.size(); ++e) edges_[e].left = capacity_[e];
  std::int64_t sum = 0;
  while (visits > 0 && find_levels(source, sink, visits)) sum += block(source, sink, visits);
  return sum;
}

}  // namespace tidemark
