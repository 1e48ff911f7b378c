#include "tidemark/ir/effects.h"

#include <algorithm>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

// The first node that satisfies this, the node itself or one in its regions; nullptr: none does.
template <class Is>
const Node* find_inside(const Node& node, const Is& is) {
  if (is(*node.op)) return &node;
  for (const Graph& region : node.regions) {
    for (const Node& inner : region.nodes()) {
      if (const Node* found = find_inside(inner, is)) return found;
    }
  }
  return nullptr;
}

bool acts(const Op& op) { return op.effect.exists(); }
bool runs_once(const Op& op) {
  return op.replay == Replay::never || (acts(op) && op.effect.on_replay != OnReplay::repeat);
}
bool refuses(const Op& op) { return acts(op) && op.effect.on_replay == OnReplay::refuse; }

void collect_domains(const Node& node, std::vector<std::string_view>& domains) {
  if (acts(*node.op)) domains.push_back(node.op->effect.domain);
  for (const Graph& region : node.regions) {
    for (const Node& inner : region.nodes()) collect_domains(inner, domains);
  }
}

// Per node: does it depend on an input from `fresh` on?
std::vector<bool> fresh_nodes(const Graph& region, std::size_t fresh) {
  std::vector<bool> value(region.values().size(), false), nodes(region.nodes().size(), false);
  for (std::size_t i = fresh; i < region.inputs().size(); ++i) value[region.inputs()[i].value.index] = true;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = region.nodes()[n];
    nodes[n] = std::ranges::any_of(node.operands, [&](ValueId v) { return value[v.index]; });
    for (ValueId v : node.results) value[v.index] = nodes[n];
  }
  return nodes;
}

// Per node: does it run in a replay?
std::vector<bool> replayed_nodes(const Graph& region, const std::vector<bool>& fresh) {
  std::vector<bool> kept(fresh.size(), false);
  for (std::size_t n = 0; n < fresh.size(); ++n) kept[n] = fresh[n] && has_effects(region.nodes()[n]);
  return needed_nodes(region, kept);
}

}  // namespace

bool has_effects(const Node& node) { return find_inside(node, acts) != nullptr; }

std::vector<std::string_view> effect_domains(const Node& node) {
  std::vector<std::string_view> domains;
  collect_domains(node, domains);
  std::ranges::sort(domains);
  domains.erase(std::ranges::unique(domains).begin(), domains.end());
  return domains;
}

bool is_repeatable(const Node& node) { return find_inside(node, runs_once) == nullptr; }

bool is_repeatable(const Graph& region) {
  return std::ranges::all_of(region.nodes(), [](const Node& node) { return is_repeatable(node); });
}

bool is_pure(const Node& node) {
  return find_inside(node, [](const Op& op) { return acts(op) || op.replay == Replay::never; }) == nullptr;
}

std::vector<int> EffectOrder::follow(const Node& node, int number) {
  std::vector<int> before;
  for (std::string_view domain : effect_domains(node)) {
    const auto last = std::ranges::find(last_, domain, &std::pair<std::string_view, int>::first);
    if (last == last_.end()) {
      last_.emplace_back(domain, number);
    } else {
      before.push_back(std::exchange(last->second, number));
    }
  }
  return before;
}

std::vector<bool> needed_nodes(const Graph& graph, const std::vector<bool>& kept) {
  std::vector<bool> used(graph.values().size(), false), needed(graph.nodes().size(), false);
  for (ValueId v : graph.outputs()) used[v.index] = true;
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    needed[n] = kept[n] || std::ranges::any_of(node.results, [&](ValueId v) { return used[v.index]; });
    if (!needed[n]) continue;
    for (ValueId v : node.operands) used[v.index] = true;
  }
  return needed;
}

Graph with_nodes(const Graph& graph, const std::vector<bool>& needed) {
  Graph result;
  result.name = graph.name;
  std::vector<ValueId> image(graph.values().size());
  for (const Input& input : graph.inputs()) image[input.value.index] = result.copy_input(graph, input);
  copy_checkpoints(graph, result);
  std::vector<Type> types;
  for (std::size_t n = 0; n < needed.size(); ++n) {
    if (!needed[n]) continue;
    const Node& node = graph.nodes()[n];
    Node copy = node;
    for (ValueId& v : copy.operands) {
      v = image[v.index];
      TM_CHECK(v.valid(), "{} reads a node that is left out", node.op->name);
    }
    types.clear();
    for (ValueId v : node.results) types.push_back(graph.type(v));
    const NodeId added = result.add_node(std::move(copy), types);
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      image[node.results[r].index] = result[added].results[r];
      result[result[added].results[r]].name = graph[node.results[r]].name;
    }
  }
  for (ValueId v : graph.outputs()) result.add_output(image[v.index]);
  copy_hints(graph, result, 0, image);
  return result;
}

Graph for_replay(const Graph& region, std::size_t fresh) {
  const std::vector<bool> is_fresh = fresh_nodes(region, fresh);
  std::vector<bool> happened(is_fresh.size(), false);
  for (std::size_t n = 0; n < happened.size(); ++n)
    happened[n] = !is_fresh[n] && has_effects(region.nodes()[n]);
  if (std::ranges::count(happened, true) == 0) return region;
  const std::vector<bool> needed = replayed_nodes(region, is_fresh);
  Graph result = with_nodes(region, needed);
  for (std::size_t n = 0, next = 0; n < needed.size(); ++n) {
    if (!needed[n]) continue;
    Node& node = result[NodeId(next++)];
    for (Graph& inner : node.regions) {
      if (happened[n]) inner = for_replay(inner);
    }
  }
  return result;
}

const Node* first_unreplayable(const Graph& region, std::size_t fresh) {
  const std::vector<bool> is_fresh = fresh_nodes(region, fresh), needed = replayed_nodes(region, is_fresh);
  for (std::size_t n = 0; n < needed.size(); ++n) {
    const Node& node = region.nodes()[n];
    if (is_fresh[n]) continue;
    if (!needed[n]) {
      if (const Node* found = find_inside(node, refuses)) return found;
      continue;
    }
    if (runs_once(*node.op)) return &node;
    for (const Graph& inner : node.regions) {
      if (const Node* found = first_unreplayable(inner)) return found;
    }
  }
  return nullptr;
}

}  // namespace tidemark
