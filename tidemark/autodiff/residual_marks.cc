#include "tidemark/autodiff/residual_marks.h"

#include <algorithm>

#include "tidemark/autodiff/loop_pairs.h"
#include "tidemark/ops/codec/value_range.h"
#include "tidemark/ops/quantization/residual.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

bool has_marks(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op == &op::residual || std::ranges::any_of(node.regions, has_marks);
  });
}

RegionsKept::RegionsKept(const Graph& graph) : graph_(graph) {
  const bool any =
      std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op == &op::loop_reverse; });
  if (any) reversals_ = loop_pairs(graph);
}

RegionKeeps RegionsKept::operator()(NodeId id, std::size_t region) const {
  const Node& node = graph_[id];
  if (node.op != &op::loop_reverse || region != 1) return {};
  const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
  if (attrs.unknown_length()) return {};
  RegionKeeps kept{.carried = static_cast<std::size_t>(attrs.carries), .copies = attrs.trips};
  if (std::ranges::any_of(reversals_, [&](const auto& pair) { return pair.second == id; }))
    kept.steps.emplace(attrs, node.regions[1]);
  return kept;
}

NodeId RegionsKept::reversal_of(NodeId loop) const {
  const auto found = reversals_.find(loop.index);
  return found == reversals_.end() ? NodeId() : found->second;
}

Marks::Marks(const Graph& graph, const RegionKeeps& kept) : graph_(graph), carried_(kept.carried) {
  const std::vector<int> uses = use_counts(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op != &op::residual || uses[node.results[0].index] == 0) continue;
    const ValueId root = root_of(node.operands[0]);
    const std::string format = unpack<ResidualAttrs>(node.attrs).format;
    const bool exactly = format == exact_residual;
    if (!may_wait(root) || (exactly && !whole_numbers_below(graph, root))) continue;
    const auto [place, is_new] = number_.try_emplace(root.index, list_.size());
    if (is_new) list_.push_back({.graph = &graph, .value = root, .has_neighbour = kept.steps.has_value()});
    Residual& residual = list_[place->second];
    residual.tolerant = residual.tolerant || !exactly;
    const std::optional<Form> asked = form_named(format);
    if (!residual.asked && asked && may_wait_in(residual, *asked)) residual.asked = asked;
  }
  for (const Hint& hint : graph.hints()) {
    if (hint.kind != HintKind::compress || !hint.value.valid()) continue;
    const std::optional<std::size_t> marked = number(root_of(hint.value));
    if (marked && list_[*marked].asked) list_[*marked].asked_at = hint.where;
  }
}

std::optional<std::size_t> Marks::number(ValueId root) const {
  const auto found = number_.find(root.index);
  return found == number_.end() ? std::nullopt : std::optional(found->second);
}

ValueId Marks::root_of(ValueId v) const {
  while (shows_all(v)) v = graph_[graph_[v].producer].operands[0];
  return v;
}

bool Marks::shows_all(ValueId v) const {
  if (graph_.is_input(v)) return false;
  const Node& node = graph_[graph_[v].producer];
  return node.op->view && node.operands.size() == 1 && node.results.size() == 1 &&
         graph_.type(node.operands[0]).bytes() == graph_.type(v).bytes();
}

bool Marks::may_wait(ValueId root) const {
  if (graph_.is_input(root)) return graph_[root].result < carried_;
  const Node& node = graph_[graph_[root].producer];
  if (node.operands.empty()) return false;  // a constant
  for (CheckpointId c = node.checkpoint; c.valid(); c = graph_[c].parent) {
    if (std::ranges::count(graph_[c].results, root) == 0) return false;
  }
  return true;
}

}  // namespace tidemark
