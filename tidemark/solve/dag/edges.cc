#include "tidemark/solve/dag/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Nodes of one cycle, each a producer of the next and the last of the first; empty if there is none. What is
// left after running all that can run has a producer left too, so walking to producers must come round.
std::vector<int> find_cycle(int nodes, const std::vector<RawEdge>& edges) {
  std::vector<std::vector<int>> consumers(at(nodes));
  std::vector<int> waiting(at(nodes), 0);
  for (const RawEdge& edge : edges) {
    consumers[at(edge.producer)].push_back(static_cast<int>(edge.consumer));
    ++waiting[at(edge.consumer)];
  }
  std::vector<int> ready;
  for (int i = 0; i < nodes; ++i) {
    if (waiting[at(i)] == 0) ready.push_back(i);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (int consumer : consumers[at(ready[next])]) {
      if (--waiting[at(consumer)] == 0) ready.push_back(consumer);
    }
  }
  if (ready.size() == at(nodes)) return {};

  std::vector<int> producer_of(at(nodes), -1);
  for (const RawEdge& edge : edges) {
    if (waiting[at(edge.producer)] > 0) producer_of[at(edge.consumer)] = static_cast<int>(edge.producer);
  }
  int node = 0;
  while (waiting[at(node)] == 0) ++node;
  std::vector<int> place(at(nodes), -1), walk;
  for (; place[at(node)] < 0; node = producer_of[at(node)]) {
    place[at(node)] = static_cast<int>(walk.size());
    walk.push_back(node);
  }
  std::vector<int> cycle(walk.begin() + place[at(node)], walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

std::string cycle_text(const Dag& dag, const std::vector<int>& cycle) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, cycle.size()); ++i) text += node_label(dag, cycle[i]) + " → ";
  if (cycle.size() > shown) text += fmt::format("{} more → ", cycle.size() - shown);
  return text + node_label(dag, cycle.front());
}

}  // namespace

std::vector<DagEdge> checked_edges(const Dag& dag, const std::vector<RawEdge>& edges, std::string_view file) {
  const auto reject = [&](std::size_t edge, std::string what, std::string expected, std::string help = "") {
    fail(ErrorCode::malformed_graph,
         {.what = fmt::format("edge {} [{}, {}] {}", edge, edges[edge].producer, edges[edge].consumer, what),
          .expected = std::move(expected),
          .where = SourceLine(intern(file), edges[edge].line),
          .help = std::move(help)});
  };
  std::size_t backwards = edges.size();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::int64_t end : {edges[i].producer, edges[i].consumer}) {
      if (end < 0 || end >= dag.size())
        reject(i, fmt::format("names node {}, which does not exist", end),
               fmt::format("nodes from 0 to {}", dag.size() - 1));
    }
    if (edges[i].producer == edges[i].consumer)
      reject(i, fmt::format("leads from {} to itself", node_label(dag, static_cast<int>(edges[i].producer))),
             "a graph without cycles");
    if (edges[i].producer > edges[i].consumer) backwards = std::min(backwards, i);
  }
  if (backwards < edges.size()) {
    const RawEdge& edge = edges[backwards];
    if (const std::vector<int> cycle = find_cycle(dag.size(), edges); !cycle.empty()) {
      const auto closes = [&](const RawEdge& e) {
        return e.producer == cycle.back() && e.consumer == cycle.front();
      };
      const auto closing = std::find_if(edges.begin(), edges.end(), closes);
      TM_CHECK(closing != edges.end());
      reject(at(closing - edges.begin()), fmt::format("closes a cycle: {}", cycle_text(dag, cycle)),
             "a graph without cycles");
    }
    reject(backwards,
           fmt::format("goes backwards: {} stands after {}, which uses it",
                       node_label(dag, static_cast<int>(edge.producer)),
                       node_label(dag, static_cast<int>(edge.consumer))),
           "nodes in a valid order of execution, producers before their consumers",
           "an edge is [producer, consumer]");
  }
  std::vector<DagEdge> checked;
  checked.reserve(edges.size());
  for (const RawEdge& e : edges)
    checked.push_back({static_cast<int>(e.producer), static_cast<int>(e.consumer)});
  std::sort(checked.begin(), checked.end(), [](const DagEdge& a, const DagEdge& b) {
    return std::tie(a.consumer, a.producer) < std::tie(b.consumer, b.producer);
  });
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

}  // namespace tidemark
