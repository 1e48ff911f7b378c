#include "tidemark/opt/split_norms.h"

#include <algorithm>

#include "tidemark/ir/builder.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

bool is_column_norm(const Graph& graph, const Node& node, const KnownOps& ops) {
  if (node.op != ops.batch_norm && node.op != ops.batch_norm_grad && node.op != ops.batch_norm_params)
    return false;
  const Type& x = graph.type(node.operands[0]);
  return x.rank() == 2 && x.count() > 0;
}

class NormSplitter {
 public:
  NormSplitter(const Graph& graph, const KnownOps& ops)
      : graph_(graph),
        ops_(ops),
        readers_(consumers(graph)),
        is_output_(graph.values().size(), false),
        scales_(graph.nodes().size()),
        rewriter_(graph, [&](const Graph& region) { return split_norms(region, ops); }),
        builder_(rewriter_.target()) {
    for (const ValueId v : graph.outputs()) is_output_[v.index] = true;
  }

  Graph run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (!is_column_norm(graph_, node, ops_)) {
        rewriter_.copy(NodeId(n));
        continue;
      }
      builder_.set_origin(node);
      if (node.op == ops_.batch_norm) {
        forward(NodeId(n));
      } else {
        gradient(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  const Node* maker_of(ValueId v, const Op* op) const {
    const NodeId producer = graph_[v].producer;
    return producer.valid() && graph_[producer].op == op ? &graph_[producer] : nullptr;
  }
  // What was reshaped, its last dimension kept.
  ValueId unfolded(ValueId v) const {
    const Node* const reshape = maker_of(v, ops_.reshape);
    if (!reshape) return v;
    const Shape &from = graph_.type(reshape->operands[0]).shape, &to = graph_.type(v).shape;
    return from.rank() >= 2 && to.rank() >= 1 && from.back() == to.back() ? reshape->operands[0] : v;
  }
  ValueId image(ValueId v) const { return rewriter_.image(v); }
  std::vector<ValueId> add(const Op* op, const std::vector<ValueId>& operands, Attrs attrs) {
    std::vector<Var> vars;
    for (const ValueId v : operands) vars.emplace_back(builder_, v);
    return ids_of(builder_.call(*op, vars, std::move(attrs)));
  }
  ValueId add_one(const Op* op, const std::vector<ValueId>& operands, Attrs attrs = {}) {
    return add(op, operands, std::move(attrs)).front();
  }
  ValueId reshaped(ValueId v, const Shape& to) {
    if (rewriter_.target().type(v).shape == to) return v;
    return add_one(ops_.reshape, {v}, attrs_with(*ops_.reshape, {{"shape", to}}));
  }

  void forward(NodeId id) {
    const Node& node = graph_[id];
    const ValueId x = image(unfolded(node.operands[0]));
    const std::vector<ValueId> numbers =
        add(ops_.column_statistics, {x, image(node.operands[1])}, node.attrs);
    scales_[id.index] = numbers[2];
    const ValueId y = add_one(ops_.normalize_columns, {x, numbers[0], numbers[2], image(node.operands[2])});
    rewriter_.map(node.results[0], reshaped(y, graph_.type(node.results[0]).shape));
    rewriter_.map(node.results[1], numbers[0]);
    rewriter_.map(node.results[2], numbers[1]);
  }

  // The norm whose statistics the gradient reads.
  const Node* norm_of(const Node& gradient) const {
    const Node* const norm = maker_of(gradient.operands[1], ops_.batch_norm);
    const bool fits = norm && norm->operands[0] == gradient.operands[0] &&
                      norm->results[1] == gradient.operands[1] && norm->results[2] == gradient.operands[2] &&
                      norm->attrs == gradient.attrs;
    return fits ? norm : nullptr;
  }

  bool is_zero(ValueId v) const {
    if (const Node* const spread = maker_of(v, ops_.broadcast)) v = spread->operands[0];
    const Node* const constant = maker_of(v, ops_.constant);
    return constant && std::ranges::all_of(attribute<Literal>(*constant, "value").bytes,
                                           [](std::byte b) { return b == std::byte{0}; });
  }
  // Do gradients of this norm alone read it?
  bool is_read_by_norms(ValueId v, const Node& norm) const {
    return !is_output_[v.index] && std::ranges::all_of(readers_[v.index], [&](NodeId id) {
      const Node& reader = graph_[id];
      if (reader.op == ops_.reshape) return is_read_by_norms(reader.results[0], norm);
      return (reader.op == ops_.batch_norm_grad || reader.op == ops_.batch_norm_params) &&
             norm_of(reader) == &norm && reader.operands.back() == v;
    });
  }
  // The h of g = select(relu(y) > 0, h, 0), where y is the norm's; else none.
  ValueId behind_relu(ValueId g, const Node* norm) const {
    const Node* const select = norm ? maker_of(g, ops_.select) : nullptr;
    if (!select || !is_zero(select->operands[2]) || !is_read_by_norms(g, *norm)) return {};
    const Node* const above = maker_of(select->operands[0], ops_.greater);
    const Node* const relu = above ? maker_of(above->operands[0], ops_.relu) : nullptr;
    if (!relu || !is_zero(above->operands[1])) return {};
    const bool fits = unfolded(relu->operands[0]) == norm->results[0] &&
                      graph_.type(select->operands[1]).shape == graph_.type(relu->operands[0]).shape;
    return fits ? select->operands[1] : ValueId();
  }

  // Of the norm, or from the numbers that the gradient reads.
  ValueId scale_of(const Node& grad, const Node* norm) {
    if (norm && norm->operands[1] == grad.operands[3])
      return scales_[graph_[norm->results[0]].producer.index];
    const DType dtype = graph_.type(grad.operands[2]).dtype;
    const Attrs to_number = attrs_with(*ops_.cast, {{"dtype", dtype}});
    const Literal eps{DType::f64, {}, bytes_of(attribute<double>(grad, "eps"))};
    const ValueId least = add_one(
        ops_.cast, {add_one(ops_.constant, {}, attrs_with(*ops_.constant, {{"value", eps}}))}, to_number);
    const ValueId rstd = add_one(ops_.rsqrt, {add_one(ops_.add, {image(grad.operands[2]), least})});
    return add_one(ops_.mul, {add_one(ops_.cast, {image(grad.operands[3])}, to_number), rstd});
  }
  static std::vector<std::byte> bytes_of(double x) {
    const auto* const first = reinterpret_cast<const std::byte*>(&x);
    return {first, first + sizeof x};
  }

  // Both read the same sums, which a later pass finds to be one.
  void gradient(const Node& node) {
    const Node* const norm = norm_of(node);
    const ValueId wide_x = unfolded(node.operands[0]);
    const Shape& shape = graph_.type(wide_x).shape;
    const ValueId wide_g = unfolded(node.operands.back());
    const ValueId behind = behind_relu(wide_g, norm);
    const ValueId x = image(wide_x), g = reshaped(image(behind.valid() ? behind : wide_g), shape);
    const ValueId mean = image(node.operands[1]), variance = image(node.operands[2]);

    std::vector<ValueId> operands = {x, mean, variance, g};
    if (behind.valid()) {
      operands.push_back(scales_[graph_[norm->results[0]].producer.index]);
      operands.push_back(image(norm->operands[2]));
    }
    const std::vector<ValueId> slopes = add(ops_.column_slopes, operands, node.attrs);
    if (node.op == ops_.batch_norm_params) {
      rewriter_.map(node.results[0], slopes[0]);
      rewriter_.map(node.results[1], slopes[1]);
      return;
    }
    operands = {x, g, mean, scale_of(node, norm), slopes[2], slopes[3]};
    if (behind.valid()) operands.push_back(image(norm->operands[2]));
    const ValueId dx = add_one(ops_.normalize_columns_grad, operands);
    rewriter_.map(node.results[0], reshaped(dx, graph_.type(node.results[0]).shape));
  }

  const Graph& graph_;
  const KnownOps& ops_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
  std::vector<ValueId> scales_;  // per node of the source: what its norm is multiplied by
  Rewriter rewriter_;
  Builder builder_;
};

}  // namespace

bool has_column_norms(const Graph& graph, const KnownOps& ops) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_column_norm(graph, node, ops) || std::ranges::any_of(node.regions, [&](const Graph& region) {
             return has_column_norms(region, ops);
           });
  });
}

Graph split_norms(const Graph& graph, const KnownOps& ops) {
  if (!ops.column_statistics || !has_column_norms(graph, ops)) return graph;
  return NormSplitter(graph, ops).run();
}

}  // namespace tidemark
