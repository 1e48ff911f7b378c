#include "tidemark/plan/passes/replay.h"

#include <algorithm>

#include "tidemark/plan/machine.h"

namespace tidemark {
namespace {

// An operand this many times smaller than the value it makes is rather kept for it than computed again.
constexpr std::int64_t much_smaller = 8;
// Runs a plan may be lengthened by, as a multiple of its own: hints can ask for a quadratic number of them.
constexpr std::size_t most_added = 16;

class Replaying {
 public:
  Replaying(const Draft& draft, const HintDecisions& decisions)
      : draft_(draft),
        graph_(*draft.graph),
        asked_(decisions),
        pinned_(output_roots(draft)),
        present_(graph_.values().size(), false),
        made_for_(graph_.values().size(), 0),
        ran_(graph_.nodes().size(), false),
        latest_(graph_.values().size()),
        report_of_value_(graph_.values().size(), -1),
        limit_(1024 + most_added * draft.executions.size()) {
    out_.once = decisions.once;
    out_.seconds.assign(decisions.reports.size(), 0);
    out_.runs.assign(decisions.reports.size(), 0);
    const std::size_t hints = graph_.hints().size();
    for (std::size_t i = 0; i < hints; ++i) {
      const HintReport& report = decisions.reports[i];
      if (report.honoured && report.kind == HintKind::recompute)
        report_of_value_[report.value.index] = static_cast<int>(i);
    }
    for (const Input& input : graph_.inputs()) latest_[input.value.index] = input.value;
  }

  Replayed run() {
    auto drop = asked_.drops.begin();
    for (position_ = 0; position_ < static_cast<int>(draft_.executions.size()); ++position_) {
      const NodeId n = draft_.executions[static_cast<std::size_t>(position_)].node;
      if (!asked_.scopes.adopted[n.index]) {  // those run when somebody reads them
        serve(graph_[n]);
        emit(n);
      }
      for (; drop != asked_.drops.end() && drop->after == position_; ++drop)
        present_[drop->root.index] = false;
    }
    return std::move(out_);
  }

 private:
  CheckpointId scope(ValueId root) const { return asked_.scopes.of_value[root.index]; }
  bool in_memory_of_an_input(ValueId root) const {
    return graph_.is_input(root) || draft_.home[root.index].valid();
  }
  // Does the memory of the input that the value is, or lives in, still hold it?
  bool still_there(ValueId root) const {
    const ValueId owner = graph_.is_input(root) ? root : draft_.home[root.index];
    return latest_[owner.index] == root;
  }

  void emit(NodeId n) {
    out_.executions.push_back({.node = n, .required = ran_[n.index]});
    ran_[n.index] = true;
    for (ValueId v : graph_[n].results) {
      present_[v.index] = true;
      if (draft_.home[v.index].valid()) latest_[draft_.home[v.index].index] = v;
    }
  }

  void refuse(NodeId n, std::string why) {
    out_.once[n.index] = std::move(why);
    out_.complete = false;
    for (ValueId v : graph_[n].results) present_[v.index] = true;  // to go on and find the others
  }

  // Has what the node reads and is gone computed again, and what that needs.
  void serve(const Node& reader) {
    std::vector<ValueId> demanded;
    for (ValueId v : reader.operands) {
      const ValueId root = draft_.root(v);
      if (!in_memory_of_an_input(root) && !present_[root.index] && std::ranges::count(demanded, root) == 0)
        demanded.push_back(root);
    }
    if (demanded.empty()) return;
    ++request_;
    std::vector<NodeId> added;
    for (ValueId root : demanded) bring_back(root, added);
    // An inner checkpoint that ran only to give back its results gives its inside up again.
    for (NodeId n : added) {
      for (ValueId v : graph_[n].results) {
        const bool stays = std::ranges::any_of(
            demanded, [&](ValueId root) { return graph_.encloses(scope(v), scope(root)); });
        if (!stays) present_[v.index] = false;
      }
    }
  }

  // Depth first, operands before the node, without recursion: chains are long.
  void bring_back(ValueId demanded, std::vector<NodeId>& added) {
    struct Visit {
      NodeId node;
      std::size_t next_operand = 0;
    };
    if (is_here(demanded)) return;
    std::vector<Visit> stack{{graph_[demanded].producer}};
    while (!stack.empty()) {
      const NodeId n = stack.back().node;
      const Node& node = graph_[n];
      if (stack.back().next_operand == node.operands.size()) {
        stack.pop_back();
        run_again(n, demanded, added);
        continue;
      }
      const ValueId root = draft_.root(node.operands[stack.back().next_operand++]);
      if (in_memory_of_an_input(root)) {
        if (!still_there(root)) {
          refuse(n, "what it is computed from has been overwritten in donated memory by then");
          stack.pop_back();
        }
      } else if (!is_here(root) && !may_stay_for(root, n, demanded)) {
        stack.push_back({graph_[root].producer});
      }
    }
  }

  bool is_here(ValueId root) const {
    return made_for_[root.index] == request_ || (present_[root.index] && !is_dead(root));
  }
  // Still in the arena as far as hints go, but nobody of the given order reads it from here on.
  bool is_dead(ValueId root) const {
    return asked_.last_use[root.index] < position_ && !pinned_[root.index] && !scope(root).valid();
  }
  // Of values that are there and dead: which live on because the node reads them.
  bool may_stay_for(ValueId root, NodeId reader, ValueId demanded) const {
    if (!present_[root.index]) return false;
    if (asked_.scopes.of_node[reader.index].valid()) return true;  // it enters a checkpoint
    return asked_.kept[root.index] || !out_.once[graph_[root].producer.index].empty() ||
           draft_.root_bytes(root) * much_smaller <= draft_.root_bytes(demanded);
  }

  void run_again(NodeId n, ValueId demanded, std::vector<NodeId>& added) {
    const Node& node = graph_[n];
    const auto here = [&](ValueId v) { return made_for_[v.index] == request_; };
    if (std::ranges::all_of(node.results, here)) return;
    if (out_.executions.size() > limit_ + draft_.executions.size()) {
      return refuse(n, "hints would lengthen the program beyond measure");
    }
    const int report = ran_[n.index] ? charged(n, demanded) : -1;
    emit(n);
    for (ValueId v : node.results) made_for_[v.index] = request_;
    added.push_back(n);
    if (report < 0) return;
    out_.seconds[static_cast<std::size_t>(report)] +=
        seconds_of(*draft_.machine, *draft_.target, PlannedCall(draft_, node));
    ++out_.runs[static_cast<std::size_t>(report)];
  }

  // Whose wish the run is: its checkpoint's, its own result's, or that of the value it serves.
  int charged(NodeId n, ValueId demanded) const {
    const CheckpointId c = asked_.scopes.of_node[n.index];
    if (c.valid()) return static_cast<int>(graph_.hints().size() + c.index);
    for (ValueId v : graph_[n].results) {
      if (report_of_value_[v.index] >= 0) return report_of_value_[v.index];
    }
    return report_of_value_[demanded.index];
  }

  const Draft& draft_;
  const Graph& graph_;
  const HintDecisions& asked_;
  const std::vector<bool> pinned_;
  std::vector<bool> present_;         // per root: computed and not dropped since
  std::vector<int> made_for_;         // per root: the request it was last computed again for
  std::vector<bool> ran_;             // per node
  std::vector<ValueId> latest_;       // per input: whose bytes its memory holds
  std::vector<int> report_of_value_;  // per root; -1: none
  const std::size_t limit_;
  int position_ = 0, request_ = 0;
  Replayed out_;
};

}  // namespace

Replayed replay(const Draft& draft, const HintDecisions& decisions) {
  return Replaying(draft, decisions).run();
}

}  // namespace tidemark
