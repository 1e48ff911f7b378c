#include "tidemark/ir/compare.h"

#include <algorithm>
#include <functional>

namespace tidemark {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

// Each value's place: inputs first, then results in the order of the nodes.
std::vector<std::size_t> places(const Graph& graph) {
  std::vector<std::size_t> place(graph.values().size());
  std::size_t next = 0;
  for (const Input& input : graph.inputs()) place[input.value.index] = next++;
  for (const Node& node : graph.nodes()) {
    for (ValueId v : node.results) place[v.index] = next++;
  }
  return place;
}

bool same_hints(const Graph& a, const Graph& b, const std::vector<std::size_t>& place_a,
                const std::vector<std::size_t>& place_b, const CompareOptions& options) {
  const auto same_value = [&](ValueId x, ValueId y) {
    return x.valid() == y.valid() && (!x.valid() || place_a[x.index] == place_b[y.index]);
  };
  const auto same_checkpoint = [&](const Checkpoint& x, const Checkpoint& y) {
    return x.parent == y.parent && x.memory == y.memory && (!options.names || x.name == y.name) &&
           (!options.lines || x.where == y.where) && std::ranges::equal(x.results, y.results, same_value);
  };
  const auto same_hint = [&](const Hint& x, const Hint& y) {
    return x.kind == y.kind && x.format == y.format && same_value(x.value, y.value) &&
           (!options.lines || x.where == y.where);
  };
  return std::ranges::equal(a.checkpoints(), b.checkpoints(), same_checkpoint) &&
         std::ranges::equal(a.hints(), b.hints(), same_hint);
}

}  // namespace

bool same_graph(const Graph& a, const Graph& b, const CompareOptions& options) {
  if (a.values().size() != b.values().size() || a.nodes().size() != b.nodes().size() ||
      a.inputs().size() != b.inputs().size() || (options.names && a.name != b.name)) {
    return false;
  }
  const auto place_a = places(a), place_b = places(b);
  const auto same_value = [&](ValueId x, ValueId y) {
    return a.type(x) == b.type(y) && (!options.names || a[x].name == b[y].name);
  };
  const auto same_use = [&](ValueId x, ValueId y) { return place_a[x.index] == place_b[y.index]; };
  if (options.hints && !same_hints(a, b, place_a, place_b, options)) return false;
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    const Input &x = a.inputs()[i], &y = b.inputs()[i];
    if (x.donated != y.donated || !same_value(x.value, y.value)) return false;
    if (options.lines && x.differentiated != y.differentiated) return false;
  }
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.op != y.op || !same_attrs(x.attrs, y.attrs) || (options.lines && x.where != y.where)) return false;
    if (options.lines && x.backward != y.backward) return false;
    if (options.hints && x.checkpoint != y.checkpoint) return false;
    if (!std::ranges::equal(x.operands, y.operands, same_use)) return false;
    if (!std::ranges::equal(x.results, y.results, same_value)) return false;
    if (!std::ranges::equal(x.regions, y.regions,
                            [&](const Graph& r, const Graph& s) { return same_graph(r, s, options); })) {
      return false;
    }
  }
  return std::ranges::equal(a.outputs(), b.outputs(), same_use);
}

std::size_t hash_graph(const Graph& graph) {
  const auto place = places(graph);
  std::size_t h = graph.nodes().size();
  const auto mix_type = [&](const Type& type) {
    h = mix(h, static_cast<std::size_t>(type.dtype));
    for (std::int64_t size : type.shape) h = mix(h, static_cast<std::size_t>(size));
  };
  for (const Input& input : graph.inputs()) mix_type(graph.type(input.value));
  for (const Node& node : graph.nodes()) {
    h = mix(mix(h, std::hash<const Op*>{}(node.op)), hash_attrs(node.attrs));
    for (ValueId v : node.operands) h = mix(h, place[v.index]);
    for (ValueId v : node.results) mix_type(graph.type(v));
    for (const Graph& region : node.regions) h = mix(h, hash_graph(region));
  }
  for (ValueId v : graph.outputs()) h = mix(h, place[v.index]);
  return h;
}

}  // namespace tidemark
