#include "tidemark/ir/effects.h"

#include <algorithm>

namespace tidemark {

bool has_effects(const Node& node) {
  if (node.op->kind == OpKind::effect) return true;
  return std::ranges::any_of(node.regions, [](const Graph& region) {
    return std::ranges::any_of(region.nodes(), [](const Node& inner) { return has_effects(inner); });
  });
}

bool is_repeatable(const Node& node) {
  if (node.op->replay == Replay::never || node.op->kind == OpKind::effect) return false;
  return std::ranges::all_of(node.regions, [](const Graph& region) { return is_repeatable(region); });
}

bool is_repeatable(const Graph& region) {
  return std::ranges::all_of(region.nodes(), [](const Node& node) { return is_repeatable(node); });
}

const Node* first_unrepeatable(const Graph& region) {
  std::vector<bool> used(region.values().size(), false);
  for (ValueId v : region.outputs()) used[v.index] = true;
  const Node* found = nullptr;
  for (std::size_t n = region.nodes().size(); n-- > 0;) {
    const Node& node = region.nodes()[n];
    if (std::ranges::none_of(node.results, [&](ValueId v) { return used[v.index]; })) continue;
    if (!is_repeatable(node)) found = &node;
    for (ValueId v : node.operands) used[v.index] = true;
  }
  return found;
}

}  // namespace tidemark
