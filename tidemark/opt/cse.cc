#include "tidemark/opt/cse.h"

#include <algorithm>
#include <unordered_map>

#include "tidemark/ir/compare.h"
#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr CompareOptions meaning_only{.names = false, .lines = false, .hints = false};
constexpr std::int64_t small_source_bytes = 4096;

std::size_t hash_node(const Node& node) {
  std::size_t h = std::hash<const Op*>{}(node.op);
  const auto mix = [&](std::size_t value) { h ^= value + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2); };
  mix(hash_attrs(node.attrs));
  for (ValueId v : node.operands) mix(v.index);
  for (const Graph& region : node.regions) mix(hash_graph(region));
  return h;
}

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && same_attrs(a.attrs, b.attrs) &&
         std::ranges::equal(a.regions, b.regions,
                            [](const Graph& r, const Graph& s) { return same_graph(r, s, meaning_only); });
}

// One node may stand for both if one's checkpoint is inside the other's: from incomparable ones, each would
// wait for the other's recomputation.
bool may_share(const Graph& graph, CheckpointId a, CheckpointId b) {
  return graph.encloses(a, b) || graph.encloses(b, a);
}

// Constants and their kind belong to nobody.
bool is_small_source(const Graph& graph, const Node& node) {
  std::int64_t bytes = 0;
  for (ValueId v : node.results) bytes += graph.type(v).bytes();
  return node.operands.empty() && node.regions.empty() && bytes <= small_source_bytes;
}

}  // namespace

Graph cse(const Graph& graph) {
  Rewriter rewriter(graph, cse);
  std::unordered_multimap<std::size_t, NodeId> seen;  // nodes of the target
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node node = rewriter.translated(graph.nodes()[i]);
    if (!is_pure(node)) {
      rewriter.append(NodeId(i), std::move(node));
      continue;
    }
    const std::size_t hash = hash_node(node);
    const bool small_source = is_small_source(graph, graph.nodes()[i]);
    NodeId twin;  // the first of them: siblings may have made several
    const auto [first, last] = seen.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      const Node& earlier = rewriter.target()[entry->second];
      if (same_node(earlier, node) &&
          (small_source || may_share(graph, earlier.checkpoint, node.checkpoint))) {
        twin = std::min(twin, entry->second);
      }
    }
    if (!twin.valid()) {
      rewriter.append(NodeId(i), std::move(node));
      seen.emplace(hash, NodeId(rewriter.target().nodes().size() - 1));
      continue;
    }
    Node& stays = rewriter.target()[twin];
    while (small_source && !graph.encloses(stays.checkpoint, node.checkpoint)) {
      stays.checkpoint = graph[stays.checkpoint].parent;
    }
    stays.backward = stays.backward && node.backward;
    const std::vector<ValueId> results = stays.results;
    for (std::size_t r = 0; r < results.size(); ++r) rewriter.map(graph.nodes()[i].results[r], results[r]);
  }
  return rewriter.finish();
}

}  // namespace tidemark
