#include "tidemark/plan/passes/checkpoint_scopes.h"

#include <algorithm>

namespace tidemark {
namespace {

class Reading {
 public:
  Reading(const Draft& draft, const std::vector<std::string>& once)
      : draft_(draft),
        graph_(*draft.graph),
        once_(once),
        pinned_(output_roots(draft)),
        position_(graph_.nodes().size(), -1) {
    for (std::size_t t = 0; t < draft.executions.size(); ++t) {
      position_[draft.executions[t].node.index] = static_cast<int>(t);
    }
    for (std::size_t c = 0; c < graph_.checkpoints().size(); ++c) {
      for (ValueId v : graph_.checkpoints()[c].results) results_.push_back({draft.root(v), CheckpointId(c)});
    }
    std::ranges::sort(results_);
    find_entering();
  }

  CheckpointScopes run() {
    out_.forward_end = ends_of_true_nodes();
    out_.size.assign(graph_.checkpoints().size(), 0);
    out_.of_node.assign(graph_.nodes().size(), {});
    out_.adopted.assign(graph_.nodes().size(), false);
    out_.of_value.assign(graph_.values().size(), {});
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (position_[n] < 0) continue;
      const Node& node = graph_.nodes()[n];
      out_.of_node[n] = node.checkpoint;
      if (once_[n].empty() && !draft_.order_is_given) {
        const CheckpointId c = adopter(node);
        out_.adopted[n] = c.valid();
        if (c.valid()) out_.of_node[n] = c;
      }
      each_around(out_.of_node[n], [&](CheckpointId c) { ++out_.size[c.index]; });
      for (ValueId v : node.results) {
        CheckpointId& c = out_.of_value[v.index];
        c = stays_in(v, out_.of_node[n]);
        // Traced inside, run after its end: for the backward alone, and there it may stay.
        while (!out_.adopted[n] && c.valid() && position_[n] > out_.forward_end[c.index])
          c = graph_[c].parent;
      }
    }
    return std::move(out_);
  }

 private:
  using Returned = std::pair<ValueId, CheckpointId>;

  bool inside(CheckpointId outer, CheckpointId inner) const { return graph_.encloses(outer, inner); }
  template <class F>
  void each_around(CheckpointId c, F&& f) const {
    for (; c.valid(); c = graph_[c].parent) f(c);
  }

  // When its results exist, the forward run of a checkpoint is over. Without results: when its last node has
  // run.
  std::vector<int> ends_of_true_nodes() const {
    std::vector<int> end(graph_.checkpoints().size(), -1), last(end);
    for (std::size_t n = 0; n < position_.size(); ++n) {
      each_around(graph_.nodes()[n].checkpoint,
                  [&](CheckpointId c) { last[c.index] = std::max(last[c.index], position_[n]); });
    }
    for (const auto& [root, c] : results_) {
      if (graph_.is_input(root)) continue;
      const NodeId producer = graph_[root].producer;
      if (inside(c, graph_[producer].checkpoint))
        end[c.index] = std::max(end[c.index], position_[producer.index]);
    }
    for (std::size_t c = 0; c < end.size(); ++c) {
      if (end[c] < 0) end[c] = last[c];
    }
    return end;
  }

  // Which roots a checkpoint's own nodes read from outside: what a node may read to be adopted.
  void find_entering() {
    for (const Node& node : graph_.nodes()) {
      if (!draft_.runs(node) || !node.checkpoint.valid()) continue;
      for (ValueId v : node.operands) {
        each_around(node.checkpoint, [&](CheckpointId c) { entering_.push_back({draft_.root(v), c}); });
      }
    }
    std::ranges::sort(entering_);
    entering_.erase(std::unique(entering_.begin(), entering_.end()), entering_.end());
  }

  // What the checkpoint around it is when returned values are followed outwards.
  CheckpointId stays_in(ValueId root, CheckpointId c) const {
    while (c.valid() && std::ranges::binary_search(results_, Returned(root, c))) c = graph_[c].parent;
    return c;
  }

  // The checkpoint that a node of a derivative rule could be part of: all it reads is made in there or read
  // by it.
  CheckpointId adopter(const Node& node) const {
    const OpKind kind = node.op->kind;
    if (kind != OpKind::elementwise && kind != OpKind::reduction && kind != OpKind::movement) return {};
    if (std::ranges::any_of(node.results, [&](ValueId v) { return pinned_[v.index]; })) return {};
    CheckpointId c;
    for (ValueId v : node.operands) {
      const CheckpointId scope = out_.of_value[draft_.root(v).index];
      if (scope.valid() && (!c.valid() || inside(c, scope))) c = scope;
    }
    if (!c.valid() || c == node.checkpoint || !inside(node.checkpoint, c)) return {};
    for (ValueId v : node.operands) {
      const ValueId root = draft_.root(v);
      const CheckpointId scope = out_.of_value[root.index];
      if (!inside(scope, c)) return {};
      const bool source = !graph_.is_input(root) && graph_[graph_[root].producer].operands.empty();
      if (scope != c && !source && !std::ranges::binary_search(entering_, Returned(root, c))) return {};
    }
    return c;
  }

  const Draft& draft_;
  const Graph& graph_;
  const std::vector<std::string>& once_;
  const std::vector<bool> pinned_;
  std::vector<int> position_;                 // per node; -1: runs no step
  std::vector<Returned> results_, entering_;  // sorted
  CheckpointScopes out_;
};

}  // namespace

CheckpointScopes scopes_of(const Draft& draft, const std::vector<std::string>& once) {
  return Reading(draft, once).run();
}

}  // namespace tidemark
