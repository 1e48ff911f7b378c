#include "tidemark/opt/accumulate.h"

#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

class Accumulation {
 public:
  Accumulation(const Graph& graph, const KnownOps& ops)
      : graph_(graph), ops_(ops), readers_(consumers(graph)), is_output_(graph.values().size(), false) {
    for (ValueId v : graph.outputs()) is_output_[v.index] = true;
  }

  // The operand of an addition that can become a product (or a take_add) added to the other one; -1: none.
  int product_of(const Node& node) const {
    if (node.op != ops_.add) return -1;
    int best = -1;
    for (int i = 0; i < 2; ++i) {
      const ValueId product = node.operands[static_cast<std::size_t>(i)];
      const ValueId sum = node.operands[static_cast<std::size_t>(1 - i)];
      if (product == sum || !is_lone_product(product)) continue;
      if (graph_.type(sum) != graph_.type(product)) continue;  // broadcast
      const NodeId maker = graph_[product].producer, before = graph_[sum].producer;
      // Else the product's operands would have to wait for the sum. An input is the caller's: nothing is
      // added in it.
      if (!before.valid() || before > maker) continue;
      best = i;
    }
    return best;
  }

 private:
  bool is_lone_product(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer.valid()) return false;
    const Node& node = graph_[producer];
    return (node.op == ops_.contract || node.op == ops_.take_add) && node.operands.size() == 2 &&
           readers_[v.index].size() == 1 && !is_output_[v.index];
  }

  const Graph& graph_;
  const KnownOps& ops_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace

Graph accumulate(const Graph& graph, const KnownOps& ops) {
  const Accumulation found(graph, ops);
  std::vector<bool> absorbed(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    if (const int i = found.product_of(node); i >= 0) {
      absorbed[graph[node.operands[static_cast<std::size_t>(i)]].producer.index] = true;
    }
  }
  Rewriter rewriter(graph, [&](const Graph& region) { return accumulate(region, ops); });
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (absorbed[n]) continue;
    const Node& node = graph.nodes()[n];
    const int i = found.product_of(node);
    if (i < 0) {
      rewriter.copy(NodeId(n));
      continue;
    }
    const Node& product = graph[graph[node.operands[static_cast<std::size_t>(i)]].producer];
    Node fused = rewriter.translated(product);
    fused.operands.push_back(rewriter.image(node.operands[static_cast<std::size_t>(1 - i)]));
    rewriter.append(NodeId(n), std::move(fused));
  }
  return rewriter.finish();
}

}  // namespace tidemark
