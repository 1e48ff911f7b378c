#include "tidemark/opt/windows.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr int most_nodes = 64;  // of what is between a part and the arrays that were padded

class Windows {
 public:
  Windows(const Graph& graph, const KnownOps& ops)
      : graph_(graph),
        ops_(ops),
        readers_(consumers(graph)),
        rewriter_(graph, [&](const Graph& region) { return read_windows(region, ops); }) {}

  Graph run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      const std::optional<Dims> start = part_start(node);
      if (!start || !read_by_elements(node.results[0])) {
        rewriter_.copy(NodeId(i));
        continue;
      }
      int nodes = 0;
      if (!is_padded(node.operands[0], graph_.type(node.operands[0]).shape, nodes)) {
        rewriter_.copy(NodeId(i));
        continue;
      }
      made_.clear();
      rewriter_.map(node.results[0],
                    part(node.operands[0], *start, graph_.type(node.results[0]).shape, node));
    }
    return rewriter_.finish();
  }

 private:
  const Node* producer(ValueId v) const { return graph_.is_input(v) ? nullptr : &graph_[graph_[v].producer]; }

  // Of a node that takes a dense part of its operand: where that begins.
  std::optional<Dims> part_start(const Node& node) const {
    const auto all = [](const Dims& dims, auto holds) {
      return std::all_of(dims.begin(), dims.end(), holds);
    };
    if (node.results.size() != 1 || graph_.type(node.results[0]).count() <= 1) return {};
    if (node.op == ops_.slice && all(attribute<Dims>(node, "step"), [](std::int64_t n) { return n == 1; }))
      return attribute<Dims>(node, "start");
    if (node.op != ops_.pad) return {};
    Dims low = attribute<Dims>(node, "low");
    const auto crops = [](std::int64_t n) { return n <= 0; };
    if (!all(low, crops) || !all(attribute<Dims>(node, "high"), crops)) return {};
    if (!all(attribute<Dims>(node, "interior"), [](std::int64_t n) { return n == 0; })) return {};
    for (std::int64_t& n : low) n = -n;
    return low;
  }

  bool read_by_elements(ValueId v) const {
    return std::ranges::all_of(readers_[v.index], [&](NodeId reader) {
      const Node& node = graph_[reader];
      return node.op->kind == OpKind::elementwise && node.regions.empty();
    });
  }

  // Is it made of padded arrays, element by element?
  bool is_padded(ValueId v, const Shape& shape, int& nodes) const {
    const Node* const node = producer(v);
    if (!node || graph_.type(v).shape != shape || ++nodes > most_nodes) return false;
    if (node->op == ops_.pad) return true;
    if (node->op->kind != OpKind::elementwise || node->results.size() != 1 || !node->regions.empty() ||
        !is_pure(*node))
      return false;
    return std::ranges::all_of(node->operands, [&](ValueId operand) {
      return graph_.type(operand).rank() == 0 || is_padded(operand, shape, nodes);
    });
  }

  // The part of `v` that begins there, for `reader`.
  ValueId part(ValueId v, const Dims& start, const Shape& shape, const Node& reader) {
    if (const auto known = made_.find(v); known != made_.end()) return known->second;
    Node node = rewriter_.translated(*producer(v));
    node.results.clear();
    node.where = reader.where;
    node.checkpoint = reader.checkpoint;
    node.backward = reader.backward;
    if (node.op == ops_.pad) {
      Dims low = attribute<Dims>(node, "low"), high = attribute<Dims>(node, "high");
      const Shape& whole = graph_.type(v).shape;
      for (int d = 0; d < low.rank(); ++d) {
        low[d] -= start[d];
        high[d] -= whole[d] - start[d] - shape[d];
      }
      const Dims interior = attribute<Dims>(node, "interior");
      node.attrs = attrs_with(*ops_.pad, {{"low", low}, {"high", high}, {"interior", interior}});
    } else {
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const ValueId operand = producer(v)->operands[k];
        if (graph_.type(operand).rank() > 0) node.operands[k] = part(operand, start, shape, reader);
      }
    }
    Graph& target = rewriter_.target();
    const Type type{graph_.type(v).dtype, shape};
    const NodeId id = target.add_node(std::move(node), std::span(&type, 1));
    return made_[v] = target[id].results[0];
  }

  const Graph& graph_;
  const KnownOps& ops_;
  std::vector<std::vector<NodeId>> readers_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> made_;  // parts of the values between, for the one part at hand
};

}  // namespace

Graph read_windows(const Graph& graph, const KnownOps& ops) { return Windows(graph, ops).run(); }

}  // namespace tidemark
