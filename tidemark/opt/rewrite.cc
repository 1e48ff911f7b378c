#include "tidemark/opt/rewrite.h"

namespace tidemark {

Rewriter::Rewriter(const Graph& source, std::function<Graph(const Graph&)> on_region)
    : source_(source), on_region_(std::move(on_region)), image_(source.values().size()) {
  target_.name = source.name;
  for (const Input& input : source.inputs()) image_[input.value.index] = target_.copy_input(source, input);
  copy_checkpoints(source, target_);
}

ValueId Rewriter::image(ValueId v) const {
  TM_CHECK(has_image(v), "value {} is not yet rewritten", v.index);
  return image_[v.index];
}

void Rewriter::map(ValueId v, ValueId replacement) {
  TM_CHECK(source_.type(v) == target_.type(replacement), "{} became {}", to_string(source_.type(v)),
           to_string(target_.type(replacement)));
  image_[v.index] = replacement;
  Value& value = target_[replacement];
  if (value.name.empty() && !target_.is_input(replacement)) value.name = source_[v].name;
}

Node Rewriter::translated(const Node& node) const {
  Node copy{.op = node.op,
            .operands = {},
            .results = {},
            .attrs = node.attrs,
            .regions = {},
            .where = node.where,
            .checkpoint = node.checkpoint,
            .backward = node.backward};
  copy.operands.reserve(node.operands.size());
  for (ValueId v : node.operands) copy.operands.push_back(image(v));
  for (const Graph& region : node.regions) copy.regions.push_back(on_region_(region));
  return copy;
}

void Rewriter::append(NodeId id, Node node) {
  const Node& old = source_[id];
  std::vector<Type> types;
  for (ValueId v : old.results) types.push_back(source_.type(v));
  const NodeId added = target_.add_node(std::move(node), types);
  for (std::size_t r = 0; r < old.results.size(); ++r) map(old.results[r], target_[added].results[r]);
}

Graph Rewriter::finish() {
  for (ValueId v : source_.outputs()) target_.add_output(image(v));
  copy_hints(source_, target_, 0, image_);
  return std::move(target_);
}

}  // namespace tidemark
