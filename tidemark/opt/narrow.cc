#include "tidemark/opt/narrow.h"

#include <algorithm>

#include "tidemark/ir/compare.h"
#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr std::int64_t small_constant_bytes = 64;
constexpr int max_rounds = 8;  // chains of narrowings are short

class Narrowing {
 public:
  explicit Narrowing(const Graph& graph)
      : graph_(graph),
        readers_(consumers(graph)),
        is_output_(graph.values().size(), false),
        moved_(graph.nodes().size(), false),
        emitted_(graph.nodes().size(), false),
        followers_(graph.nodes().size() + 1),
        rewriter_(graph, narrow) {
    for (ValueId v : graph.outputs()) is_output_[v.index] = true;
  }

  Graph run() {
    for (std::size_t v = 0; v < graph_.values().size(); ++v) consider(ValueId(v));
    emit_followers(followers_of({}));
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!moved_[i] && !emitted_[i]) emit(NodeId(i));
    }
    return rewriter_.finish();
  }

 private:
  // Nodes without operands and with a small result (the 0 of `x > 0`) come along with whoever needs them.
  bool comes_along(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer.valid()) return false;
    const Node& node = graph_[producer];
    return node.operands.empty() && node.regions.empty() && node.results.size() == 1 && is_pure(node) &&
           graph_.type(v).bytes() <= small_constant_bytes;
  }

  // The producer after which all operands exist; invalid: inputs suffice.
  NodeId last_producer(const Node& node) const {
    NodeId last;
    for (ValueId v : node.operands) {
      const NodeId producer = graph_[v].producer;
      if (!comes_along(v) && producer.valid() && (!last.valid() || producer > last)) last = producer;
    }
    return last;
  }

  bool narrows(const Node& node, ValueId x) const {
    if (node.op->kind != OpKind::elementwise && node.op->kind != OpKind::reduction) return false;
    if (node.results.size() != 1 || !node.regions.empty() || !is_pure(node)) return false;
    for (ValueId v : node.operands) {
      if (graph_.type(v).bytes() > graph_.type(x).bytes()) return false;  // another operand weighs more
    }
    return 2 * graph_.type(node.results[0]).bytes() <= graph_.type(x).bytes();
  }

  // Step after which the node's operands exist, counting inputs as step 0.
  static double step_of(NodeId id) { return id.valid() ? 1.0 + id.index : 0.0; }

  void consider(ValueId x) {
    const std::vector<NodeId>& readers = readers_[x.index];
    if (readers.empty() || is_output_[x.index]) return;
    if (graph_.is_input(x) && !graph_.inputs()[graph_[x].result].donated) return;  // lives to the end anyway
    std::size_t first = readers.size();
    while (first > 0 && !moved_[readers[first - 1].index] && narrows(graph_[readers[first - 1]], x)) --first;
    if (first == readers.size()) return;
    const double dies = step_of(readers.back());
    const double would_die = first == 0 ? step_of(graph_[x].producer) : step_of(readers[first - 1]);
    const double saved = static_cast<double>(graph_.type(x).bytes()) * (dies - would_die);
    double spent = 0;
    for (std::size_t i = first; i < readers.size(); ++i) {
      const Node& node = graph_[readers[i]];
      const double earlier = step_of(readers[i]) - step_of(last_producer(node)) - 1;
      spent += static_cast<double>(graph_.type(node.results[0]).bytes()) * earlier;
    }
    if (spent <= 0 || saved <= spent) return;
    for (std::size_t i = first; i < readers.size(); ++i) {
      moved_[readers[i].index] = true;
      followers_of(last_producer(graph_[readers[i]])).push_back(readers[i]);
    }
  }

  std::vector<NodeId>& followers_of(NodeId producer) {
    return producer.valid() ? followers_[producer.index] : followers_.back();
  }

  void emit(NodeId id) {
    copy(id);
    emit_followers(followers_[id.index]);
  }

  void copy(NodeId id) {
    rewriter_.copy(id);
    emitted_[id.index] = true;
  }

  // Emits what waits here, and what waits for that. A producer that moved itself may leave other operands of
  // its follower behind; the follower then waits for the last of those.
  void emit_followers(const std::vector<NodeId>& waiting) {
    std::vector<NodeId> stack(waiting.rbegin(), waiting.rend());
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      NodeId missing;
      for (ValueId v : graph_[id].operands) {
        if (rewriter_.has_image(v)) continue;
        if (comes_along(v)) {
          copy(graph_[v].producer);
        } else if (!missing.valid() || graph_[v].producer > missing) {
          missing = graph_[v].producer;
        }
      }
      if (missing.valid()) {
        followers_[missing.index].push_back(id);
        continue;
      }
      copy(id);
      const std::vector<NodeId>& next = followers_[id.index];
      stack.insert(stack.end(), next.rbegin(), next.rend());
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_, moved_, emitted_;
  std::vector<std::vector<NodeId>>
      followers_;  // per node: what is emitted right after it; the last: at the start
  Rewriter rewriter_;
};

}  // namespace

Graph narrow(const Graph& graph) {
  Graph current = Narrowing(graph).run();
  // A node that moved may leave its reader as the next to move.
  for (int round = 1; round < max_rounds; ++round) {
    Graph next = Narrowing(current).run();
    if (same_graph(next, current)) break;
    current = std::move(next);
  }
  return current;
}

}  // namespace tidemark
