#include "tidemark/opt/product_rows.h"

#include <algorithm>

#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

class Rows {
 public:
  Rows(const Graph& graph, const KnownOps& ops)
      : graph_(graph), ops_(ops), readers_(consumers(graph)), is_output_(graph.values().size(), false) {
    for (const ValueId v : graph.outputs()) is_output_[v.index] = true;
  }

  // The operand of an addition that is a product to which the other one can be added, as a row or whole; -1:
  // none.
  int product_of(const Node& node) const {
    if (node.op != ops_.add) return -1;
    for (int i = 0; i < 2; ++i) {
      const ValueId product = node.operands[static_cast<std::size_t>(i)];
      const ValueId other = node.operands[static_cast<std::size_t>(1 - i)];
      if (product != other && is_product(product) &&
          (is_row(row_of(other), graph_.type(product)) || is_whole_input(other, graph_.type(product))))
        return i;
    }
    return -1;
  }

  // What is broadcast, where it is.
  ValueId row_of(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer.valid() || graph_[producer].op != ops_.broadcast) return v;
    return graph_[producer].operands[0];
  }

  bool is_whole_input(ValueId v, const Type& product) const {
    return !graph_[v].producer.valid() && graph_.type(v) == product;
  }

 private:
  // Of matrices, with one dimension of the right operand left.
  bool is_product(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer.valid() || readers_[v.index].size() != 1 || is_output_[v.index]) return false;
    const Node& node = graph_[producer];
    if (node.op != ops_.contract || node.operands.size() != 2) return false;
    return attribute<Dims>(node, "rhs_batch").empty() &&
           graph_.type(node.operands[1]).rank() == attribute<Dims>(node, "rhs_contract").rank() + 1;
  }

  bool is_row(ValueId v, const Type& product) const {
    const Shape& shape = graph_.type(v).shape;
    return shape.rank() > 0 && shape.rank() <= product.rank() && graph_.type(v).dtype == product.dtype &&
           shape.back() == product.shape.back() &&
           std::all_of(shape.begin(), shape.end() - 1, [](std::int64_t size) { return size == 1; });
  }

  const Graph& graph_;
  const KnownOps& ops_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace

Graph add_rows_in_products(const Graph& graph, const KnownOps& ops) {
  const Rows found(graph, ops);
  std::vector<bool> absorbed(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    if (const int i = found.product_of(node); i >= 0)
      absorbed[graph[node.operands[static_cast<std::size_t>(i)]].producer.index] = true;
  }
  Rewriter rewriter(graph, [&](const Graph& region) { return add_rows_in_products(region, ops); });
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (absorbed[n]) continue;
    const Node& node = graph.nodes()[n];
    const int i = found.product_of(node);
    if (i < 0) {
      rewriter.copy(NodeId(n));
      continue;
    }
    const Node& product = graph[graph[node.operands[static_cast<std::size_t>(i)]].producer];
    const Type& type = graph.type(node.results[0]);
    const ValueId other = node.operands[static_cast<std::size_t>(1 - i)];
    Node fused = rewriter.translated(product);
    if (found.is_whole_input(other, type)) {
      fused.operands.push_back(rewriter.image(other));
      rewriter.append(NodeId(n), std::move(fused));
      continue;
    }
    Node rows{.op = ops.broadcast,
              .operands = {rewriter.image(found.row_of(other))},
              .results = {},
              .attrs = attrs_with(*ops.broadcast, {{"shape", type.shape}}),
              .regions = {},
              .where = node.where,
              .backward = node.backward};
    const NodeId added = rewriter.target().add_node(std::move(rows), std::span(&type, 1));
    fused.operands.push_back(rewriter.target()[added].results[0]);
    rewriter.append(NodeId(n), std::move(fused));
  }
  return rewriter.finish();
}

}  // namespace tidemark
