#include "tidemark/opt/cse.h"

#include <algorithm>
#include <unordered_map>

#include "tidemark/ir/compare.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr CompareOptions meaning_only{.names = false, .lines = false};

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

}  // namespace

Graph cse(const Graph& graph) {
  Rewriter rewriter(graph, cse);
  std::unordered_multimap<std::size_t, NodeId> seen;  // nodes of the target since the last effect
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node node = rewriter.translated(graph.nodes()[i]);
    if (has_effects(node)) seen.clear();
    if (!is_repeatable(node)) {
      rewriter.append(NodeId(i), std::move(node));
      continue;
    }
    const std::size_t hash = hash_node(node);
    const auto [first, last] = seen.equal_range(hash);
    const auto twin = std::find_if(
        first, last, [&](const auto& entry) { return same_node(rewriter.target()[entry.second], node); });
    if (twin == last) {
      rewriter.append(NodeId(i), std::move(node));
      seen.emplace(hash, NodeId(rewriter.target().nodes().size() - 1));
      continue;
    }
    const std::vector<ValueId> results = rewriter.target()[twin->second].results;
    for (std::size_t r = 0; r < results.size(); ++r) rewriter.map(graph.nodes()[i].results[r], results[r]);
  }
  return rewriter.finish();
}

}  // namespace tidemark
