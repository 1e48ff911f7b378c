#include "tidemark/ir/graph.h"

#include <algorithm>

namespace tidemark {

ValueId Graph::add_input(Type type, std::string input_name, bool donated) {
  const ValueId id(values_.size());
  values_.push_back({.type = type,
                     .producer = {},
                     .result = static_cast<std::uint32_t>(inputs_.size()),
                     .name = std::move(input_name)});
  inputs_.push_back({.value = id, .donated = donated});
  return id;
}

ValueId Graph::copy_input(const Graph& source, const Input& input) {
  const ValueId id = add_input(source.type(input.value), source[input.value].name, input.donated);
  inputs_.back().differentiated = input.differentiated;
  return id;
}

NodeId Graph::add_node(Node node, std::span<const Type> result_types) {
  const NodeId id(nodes_.size());
  node.results.clear();
  for (const Type& type : result_types) {
    node.results.push_back(ValueId(values_.size()));
    values_.push_back({.type = type,
                       .producer = id,
                       .result = static_cast<std::uint32_t>(node.results.size() - 1),
                       .name = {}});
  }
  nodes_.push_back(std::move(node));
  return id;
}

CheckpointId Graph::add_checkpoint(Checkpoint checkpoint) {
  checkpoints_.push_back(std::move(checkpoint));
  return CheckpointId(checkpoints_.size() - 1);
}

bool Graph::encloses(CheckpointId outer, CheckpointId inner) const {
  while (inner.valid() && inner != outer) inner = checkpoints_[inner.index].parent;
  return inner == outer;
}

CheckpointId shifted(CheckpointId checkpoint, std::uint32_t shift, CheckpointId within) {
  return checkpoint.valid() ? CheckpointId(std::size_t{checkpoint.index} + shift) : within;
}

std::uint32_t copy_checkpoints(const Graph& source, Graph& target, CheckpointId within) {
  const auto shift = static_cast<std::uint32_t>(target.checkpoints().size());
  for (const Checkpoint& checkpoint : source.checkpoints()) {
    Checkpoint copy = checkpoint;
    copy.parent = shifted(copy.parent, shift, within);
    copy.results.clear();
    target.add_checkpoint(std::move(copy));
  }
  return shift;
}

void copy_hints(const Graph& source, Graph& target, std::uint32_t shift, std::span<const ValueId> image) {
  for (std::size_t c = 0; c < source.checkpoints().size(); ++c) {
    std::vector<ValueId>& results = target[shifted(CheckpointId(c), shift)].results;
    for (ValueId v : source.checkpoints()[c].results) {
      const ValueId result = image[v.index];
      if (result.valid() && std::ranges::find(results, result) == results.end()) results.push_back(result);
    }
  }
  for (Hint hint : source.hints()) {
    if (hint.value.valid()) hint.value = image[hint.value.index];
    target.add_hint(hint);
  }
}

std::string_view name_of(HintKind kind) {
  switch (kind) {
    case HintKind::keep:
      return "keep";
    case HintKind::recompute:
      return "recompute";
    case HintKind::compress:
      return "compress";
    case HintKind::offload:
      return "offload";
    default:
      return "checkpoint";
  }
}

NodeCall::NodeCall(const Graph& graph, const Node& node) {
  in.reserve(node.operands.size());
  for (ValueId v : node.operands) in.push_back(graph.type(v));
  out.reserve(node.results.size());
  for (ValueId v : node.results) out.push_back(graph.type(v));
  call = {.op = node.op,
          .in = in,
          .out = out,
          .attrs = &node.attrs,
          .regions = node.regions,
          .where = node.where,
          .in_strides = {}};
}

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> counts(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (ValueId v : node.operands) ++counts[v.index];
  }
  for (ValueId v : graph.outputs()) ++counts[v.index];
  return counts;
}

std::vector<std::vector<NodeId>> consumers(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.values().size());
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (ValueId v : graph.nodes()[i].operands) {
      auto& list = result[v.index];
      if (list.empty() || list.back() != NodeId(i)) list.push_back(NodeId(i));
    }
  }
  return result;
}

}  // namespace tidemark
