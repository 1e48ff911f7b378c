#include "tidemark/plan/passes/hint_decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tidemark/ir/effects.h"
#include "tidemark/plan/machine.h"

namespace tidemark {
namespace {

// A value of this size or less saves nothing worth a step.
constexpr std::int64_t trifle = buffer_alignment;
// Recomputed once for the backward, a checkpoint's value waits on for later uses (a second derivative's) if
// they come within this many times the steps of its forward run; beyond, it is dropped once more.
constexpr int nearby = 4;

class Decider {
 public:
  Decider(const Draft& draft, std::vector<std::string> once)
      : draft_(draft), graph_(*draft.graph), pinned_(output_roots(draft)), uses_(graph_.values().size()) {
    out_.scopes = scopes_of(draft, once);
    out_.once = std::move(once);
    out_.kept.assign(graph_.values().size(), false);
    out_.dropped.assign(graph_.values().size(), false);
    out_.last_use.assign(graph_.values().size(), -1);
    position_.assign(graph_.nodes().size(), -1);
    for (std::size_t t = 0; t < draft.executions.size(); ++t) {
      position_[draft.executions[t].node.index] = static_cast<int>(t);
    }
    find_uses();
  }

  HintDecisions run() {
    read_hints();
    runs_of_.resize(graph_.checkpoints().size());
    for (std::size_t t = 0; t < draft_.executions.size(); ++t) {
      CheckpointId c = out_.scopes.of_node[draft_.executions[t].node.index];
      for (; c.valid(); c = graph_[c].parent) runs_of_[c.index].push_back(static_cast<int>(t));
    }
    inside_.resize(graph_.checkpoints().size());
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const CheckpointId c = out_.scopes.of_value[v];
      if (c.valid() && !draft_.is_view(ValueId(v))) inside_[c.index].push_back(ValueId(v));
    }
    for (std::size_t c = 0; c < graph_.checkpoints().size(); ++c) read_checkpoint(CheckpointId(c));
    std::ranges::stable_sort(out_.drops, {}, &Drop::after);
    return std::move(out_);
  }

 private:
  // Backwards, readers before what they read: adopted nodes run when their result is first read.
  void find_uses() {
    for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      if (position_[n] < 0) continue;
      for (ValueId v : node.results) {
        std::vector<int>& list = uses_[v.index];
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
        if (!list.empty()) out_.last_use[v.index] = list.back();
      }
      if (out_.scopes.adopted[n]) {
        position_[n] = -1;
        for (ValueId v : node.results) {
          const std::vector<int>& list = uses_[v.index];
          if (!list.empty() && (position_[n] < 0 || list.front() < position_[n])) position_[n] = list.front();
        }
        if (position_[n] < 0) continue;
      }
      for (ValueId v : node.operands) uses_[draft_.root(v).index].push_back(position_[n]);
    }
  }

  const std::vector<int>& uses(ValueId root) const { return uses_[root.index]; }
  int made_at(ValueId root) const { return position_[graph_[root].producer.index]; }

  // Why the value cannot be computed again, or need not be; empty: it can.
  std::string fixed(ValueId root) const {
    if (graph_.is_input(root)) return "an input is always there";
    if (pinned_[root.index]) return "a result of the program stays to its end";
    return out_.once[graph_[root].producer.index];
  }

  std::string label(ValueId v) const {
    if (!graph_[v].name.empty()) return graph_[v].name;
    const NodeId producer = graph_[v].producer;
    return producer.valid() ? fmt::format("%{} of {}", v.index, graph_[producer].op->name)
                            : fmt::format("%{}", v.index);
  }

  // Calls f(use before the gap, use after it) for every stretch in which nobody reads the value.
  template <class F>
  void each_wait(ValueId root, F&& f) const {
    int before = made_at(root);
    for (int use : uses(root)) {
      f(before, use);
      before = use;
    }
  }

  void drop(ValueId root, int after) {
    out_.drops.push_back({after, root});
    out_.dropped[root.index] = out_.dropped[root.index] || out_.last_use[root.index] > after;
  }

  void read_hints() {
    std::vector<bool> seen(graph_.values().size(), false), kept(seen), recomputed(seen), offloaded(seen);
    for (const Hint& hint : graph_.hints()) {
      if (!hint.value.valid()) continue;
      if (hint.kind == HintKind::keep) kept[draft_.root(hint.value).index] = true;
      if (hint.kind == HintKind::recompute) recomputed[draft_.root(hint.value).index] = true;
    }
    for (const Hint& hint : graph_.hints()) {
      HintReport report{.kind = hint.kind, .name = {}, .where = hint.where};
      if (!hint.value.valid()) {
        report.reason = "the value was optimised away";
      } else {
        const ValueId root = draft_.root(hint.value);
        report.name = label(hint.value);
        report.value = root;
        const bool compress = hint.kind == HintKind::compress, offload = hint.kind == HintKind::offload;
        report.reason = compress                            ? read_compress(hint.value, report)
                        : offload && offloaded[root.index]  ? "the same was asked before"
                        : offload && recomputed[root.index] ? "it is to be recomputed"
                        : offload                           ? read_offload(root)
                        : kept[root.index] && recomputed[root.index]
                            ? "it is both to be kept and to be recomputed"
                        : seen[root.index]            ? "the same was asked before"
                        : hint.kind == HintKind::keep ? read_keep(root, report)
                                                      : read_recompute(root, report);
        if (offload) offloaded[root.index] = true;
        if (!compress && !offload) seen[root.index] = true;
      }
      report.honoured = report.reason.empty();
      out_.reports.push_back(std::move(report));
    }
  }

  // Lowered before the plan, it has a reader that packs it and another that unpacks what was packed.
  std::string read_compress(ValueId v, HintReport& report) const {
    std::map<std::uint32_t, std::int64_t> packed;  // what nodes make of it, by value: bytes
    for (const Node& node : graph_.nodes()) {
      if (node.op->unpacks && packed.contains(node.operands[0].index)) {
        report.bytes = graph_.type(v).bytes() - packed.at(node.operands[0].index);
        return {};
      }
      if (node.results.size() == 1 && std::ranges::count(node.operands, v) > 0)
        packed.emplace(node.results[0].index, graph_.type(node.results[0]).bytes());
    }
    return "no derivative rule outside of loops reads it, or it is an argument or inside a checkpoint, or "
           "has "
           "no such form that is smaller and has room for it";
  }

  // Only what is there can wait elsewhere: it runs once. Whether it does wait there, and when, is decided on
  // the finished plan (plan/spill/offloads.h).
  std::string read_offload(ValueId root) {
    if (draft_.binds_outputs) return "bodies of loops do not use the disk";
    if (!draft_.has_disk) return "there is no disk to wait on: give compile a budget and a .disk";
    if (graph_.is_input(root)) return "an input is always there";
    if (draft_.home[root.index].valid()) return "it is written into donated memory";
    if (uses(root).empty()) return "nothing reads it";
    if (draft_.root_bytes(root) <= trifle)
      return fmt::format("it has only {} bytes", draft_.root_bytes(root));
    out_.kept[root.index] = true;
    return {};
  }

  std::string read_keep(ValueId root, HintReport& report) {
    if (const std::string why = fixed(root); !why.empty()) return why;
    if (uses(root).empty()) return "nothing reads it";
    out_.kept[root.index] = true;
    report.bytes = draft_.root_bytes(root);
    return {};
  }

  std::string read_recompute(ValueId root, HintReport& report) {
    if (const std::string why = fixed(root); !why.empty()) return why;
    if (uses(root).empty()) return "nothing reads it";
    if (draft_.root_bytes(root) <= trifle)
      return fmt::format("it has only {} bytes", draft_.root_bytes(root));
    if (out_.scopes.of_value[root.index].valid()) return "its checkpoint decides that already";
    int begin = 0, longest = 1;
    each_wait(root, [&](int before, int after) {
      if (after - before > longest) begin = before, longest = after - before;
    });
    if (longest == 1) return "its readers follow each other without a wait";
    drop(root, begin);
    report.bytes = draft_.root_bytes(root);
    return {};
  }

  bool runs_inside(CheckpointId c, int position) const {
    const NodeId n = draft_.executions[static_cast<std::size_t>(position)].node;
    return graph_.encloses(c, out_.scopes.of_node[n.index]);
  }

  bool others_run_between(int before, int after, CheckpointId c) const {
    const std::vector<int>& own = runs_of_[c.index];
    const auto first = std::ranges::upper_bound(own, before), last = std::ranges::lower_bound(own, after);
    return last - first < after - before - 1;
  }

  // The last execution of the forward run that makes or reads the value.
  int forward_use(ValueId root, CheckpointId c) const {
    int last = made_at(root);
    for (int use : uses(root)) {
      if (use <= out_.scopes.forward_end[c.index] && runs_inside(c, use)) last = use;
    }
    return last;
  }

  // Positions after which the value goes. Nobody else running in between, it stays.
  std::vector<int> drops_of(ValueId root, CheckpointId c) const {
    std::vector<int> result;
    const bool adopted = out_.scopes.adopted[graph_[root].producer.index];
    const int forward = adopted ? made_at(root) - 1 : forward_use(root, c);
    if (out_.last_use[root.index] <= forward) return {forward};
    each_wait(root, [&](int before, int after) {
      if (before < forward) return;
      if (before > forward) {
        if (after - before > nearby * out_.scopes.size[c.index]) result.push_back(before);
        return;
      }
      if (others_run_between(before, after, c)) result.push_back(before);
    });
    return result;
  }

  // The values worth most per byte, up to the checkpoint's memory.
  std::int64_t keep_within(std::int64_t memory, const std::vector<ValueId>& candidates) {
    std::vector<double> worth;
    for (ValueId v : candidates) {
      const double bytes = static_cast<double>(std::max<std::int64_t>(1, draft_.root_bytes(v)));
      worth.push_back(
          seconds_of(*draft_.machine, *draft_.target, PlannedCall(draft_, graph_[graph_[v].producer])) /
          bytes);
    }
    std::vector<std::size_t> by_worth(candidates.size());
    std::iota(by_worth.begin(), by_worth.end(), std::size_t{0});
    std::ranges::stable_sort(by_worth, std::greater(), [&](std::size_t i) { return worth[i]; });
    std::int64_t used = 0;
    for (std::size_t i : by_worth) {
      const std::int64_t bytes = draft_.target->aligned(draft_.root_bytes(candidates[i]));
      if (used + bytes > memory) continue;
      used += bytes;
      out_.kept[candidates[i].index] = true;
    }
    return used;
  }

  void read_checkpoint(CheckpointId c) {
    const Checkpoint& checkpoint = graph_[c];
    HintReport report{.kind = HintKind::checkpoint, .name = checkpoint.name, .where = checkpoint.where};
    std::vector<ValueId> candidates;
    std::string last_reason = "nothing inside is read after its forward run";
    for (ValueId v : inside_[c.index]) {
      if (out_.kept[v.index] || draft_.root_bytes(v) <= trifle || drops_of(v, c).empty()) continue;
      if (const std::string why = fixed(v); why.empty()) {
        candidates.push_back(v);
      } else {
        last_reason = why;
      }
    }
    if (checkpoint.memory) report.kept_bytes = keep_within(checkpoint.memory->count, candidates);
    for (ValueId v : candidates) {
      if (out_.kept[v.index]) {
        last_reason = "all of it fits into the checkpoint's memory";
        continue;
      }
      for (int after : drops_of(v, c)) drop(v, after);
      if (out_.dropped[v.index]) report.bytes += draft_.root_bytes(v);
    }
    report.honoured = report.bytes > 0;
    if (out_.scopes.size[c.index] == 0) last_reason = "its operations were optimised away";
    if (!report.honoured) report.reason = last_reason;
    out_.reports.push_back(std::move(report));
  }

  const Draft& draft_;
  const Graph& graph_;
  const std::vector<bool> pinned_;
  std::vector<std::vector<int>> uses_;     // per root: positions of its readers
  std::vector<int> position_;              // per node, when it runs first; -1: never
  std::vector<std::vector<int>> runs_of_;  // per checkpoint: positions of its executions, inner ones included
  std::vector<std::vector<ValueId>> inside_;  // per checkpoint: roots that stay in it
  HintDecisions out_;
};

}  // namespace

std::vector<std::string> once_only(const Draft& draft) {
  const Graph& graph = *draft.graph;
  std::vector<std::string> reasons(graph.nodes().size());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!is_repeatable(node)) {
      reasons[n] = fmt::format("{} may not run twice", node.op->name);
    } else if (std::ranges::any_of(node.results, [&](ValueId v) { return draft.home[v.index].valid(); })) {
      reasons[n] = "it is written into donated memory";
    }
  }
  return reasons;
}

HintDecisions decide_hints(const Draft& draft, std::vector<std::string> once) {
  return Decider(draft, std::move(once)).run();
}

}  // namespace tidemark
