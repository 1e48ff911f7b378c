#include "tidemark/plan/report/plan_edits.h"

#include <algorithm>
#include <array>

#include "tidemark/plan/passes/draft_model.h"
#include "tidemark/plan/passes/groups.h"
#include "tidemark/plan/passes/hint_decisions.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

// An operand this many times smaller than what it makes rather stays than is computed again, as with hints.
constexpr std::int64_t much_smaller = 8;
constexpr std::size_t most_runs_in_group = 32;  // as of the pass `fuse`

std::shared_ptr<const RegionPlans> regions_of(const Graph& graph, std::vector<NodePlans> bodies) {
  if (bodies.empty()) return nullptr;
  auto regions = std::make_shared<RegionPlans>();
  regions->facts.resize(graph.nodes().size());
  for (const NodePlans& body : bodies) {
    for (const Plan& region : body.regions) regions->facts[body.node.index].push_back(facts_of(region));
  }
  regions->bodies = std::move(bodies);
  return regions;
}

// A plan does not say which runs are there because they are faster (Execution::duplicate). A run whose
// results have no memory is read by its own kernel alone, so that as a duplicate it means the same.
std::vector<Execution> executions_in(const Plan& plan, const Graph& graph) {
  std::vector<Execution> list;
  std::vector<bool> ran(graph.nodes().size(), false);
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    const bool in_tiles = !step.out.empty() && std::ranges::all_of(step.out, [&](const Ref& out) {
      return plan.buffers[out.buffer.index].binding == Binding::tile;
    });
    list.push_back({.node = step.node,
                    .group = step.group,
                    .duplicate = in_tiles && ran[step.node.index] && plan.duplicates.steps > 0});
    ran[step.node.index] = true;
  }
  return list;
}

// The executions as uses and makes of values.
class Lives {
 public:
  Lives(const Draft& draft, const std::vector<Execution>& runs)
      : draft_(draft), graph_(*draft.graph), runs_(runs), pinned_(output_roots(draft)) {}

  const Node& node(std::size_t t) const { return graph_[runs_[t].node]; }
  bool makes(std::size_t t, ValueId root) const {
    return !runs_[t].duplicate && std::ranges::count(node(t).results, root) > 0;
  }
  bool reads(std::size_t t, ValueId root) const {
    return std::ranges::any_of(node(t).operands, [&](ValueId v) { return draft_.root(v) == root; });
  }
  // One past the last run of the kernel.
  std::size_t kernel_end(std::size_t t) const {
    std::size_t end = t + 1;
    while (runs_[t].group >= 0 && end < runs_.size() && runs_[end].group == runs_[t].group) ++end;
    return end;
  }
  std::size_t kernel_begin(std::size_t t) const {
    while (runs_[t].group >= 0 && t > 0 && runs_[t - 1].group == runs_[t].group) --t;
    return t;
  }

  // The use behind the longest wait of the first version; none: nobody waits.
  std::optional<std::size_t> use_after_wait(ValueId root) const {
    std::optional<std::size_t> last, found;
    std::size_t longest = 0;
    for (std::size_t t = 0; t < runs_.size(); ++t) {
      if (last && reads(t, root)) {
        const std::size_t between = kernel_begin(t) - std::min(kernel_begin(t), kernel_end(*last));
        if (between > longest) longest = between, found = t;
        last = t;
      }
      if (makes(t, root)) {
        if (last) break;
        last = t;
      }
    }
    return found;
  }

  // Is it in memory before run `t`, and wanted by it or behind it, with nothing made again?
  bool is_alive(ValueId root, std::size_t t) const {
    bool made = false;
    for (std::size_t s = 0; s < t && !made; ++s) made = makes(s, root);
    if (!made) return false;
    for (std::size_t s = t; s < runs_.size(); ++s) {
      if (reads(s, root)) return true;
      if (makes(s, root)) return false;
    }
    return pinned_[root.index];
  }
  bool in_memory_of_an_input(ValueId root) const {
    return graph_.is_input(root) || draft_.home[root.index].valid();
  }
  // Does the memory of the input that the value is, or lives in, still hold it before run `t`?
  bool still_there(ValueId root, std::size_t t) const {
    const ValueId owner = graph_.is_input(root) ? root : draft_.home[root.index];
    ValueId holder = owner;
    for (std::size_t s = 0; s < t; ++s) {
      for (const ValueId v : node(s).results) {
        if (draft_.home[v.index] == owner) holder = v;
      }
    }
    return holder == root;
  }
  bool is_pinned(ValueId root) const { return pinned_[root.index]; }

 private:
  const Draft& draft_;
  const Graph& graph_;
  const std::vector<Execution>& runs_;
  const std::vector<bool> pinned_;
};

// The nodes that must run before `t` to have `demanded` there: operands first, without recursion.
struct Chain {
  std::vector<NodeId> nodes = {};
  std::string why_not = {};
};
Chain chain_to(const Draft& draft, const Lives& lives, ValueId demanded, std::size_t t) {
  const Graph& graph = *draft.graph;
  const std::vector<std::string> once = once_only(draft);
  struct Visit {
    NodeId node;
    std::size_t next_operand = 0;
  };
  Chain chain;
  std::vector<bool> done(graph.nodes().size(), false);
  std::vector<Visit> stack{{graph[demanded].producer}};
  constexpr std::size_t most = 4096;  // longer chains serve nobody
  while (!stack.empty()) {
    const NodeId n = stack.back().node;
    const Node& node = graph[n];
    if (!once[n.index].empty()) return {{}, once[n.index]};
    if (chain.nodes.size() + stack.size() > most) return {{}, "too much would have to be computed again"};
    if (done[n.index]) {
      stack.pop_back();
      continue;
    }
    if (stack.back().next_operand == node.operands.size()) {
      chain.nodes.push_back(n);
      done[n.index] = true;
      stack.pop_back();
      continue;
    }
    const ValueId root = draft.root(node.operands[stack.back().next_operand++]);
    if (lives.in_memory_of_an_input(root)) {
      if (!lives.still_there(root, t))
        return {{}, "what it is computed from has been overwritten in donated memory by then"};
      continue;
    }
    const NodeId maker = graph[root].producer;
    if (done[maker.index] || lives.is_alive(root, t)) continue;
    const bool stays =
        !once[maker.index].empty() || draft.root_bytes(root) * much_smaller <= draft.root_bytes(demanded);
    if (!stays) stack.push_back({maker});
  }
  return chain;
}

}  // namespace

PlanEdits::PlanEdits(const Graph& graph, const Plan& plan, const Target& target, const Machine& machine,
                     const std::vector<std::string>& skip)
    : graph_(graph), plan_(plan), regions_(regions_of(graph, plan.bodies)), draft_(graph, target) {
  const auto runs = [&](std::string_view pass) { return std::ranges::count(skip, pass) == 0; };
  draft_.machine = &machine;
  draft_.regions = regions_.get();
  draft_.binds_outputs = plan.binds_outputs;
  if (runs("views")) draft_ = views(std::move(draft_));
  if (runs("donate")) draft_ = donate(std::move(draft_));
  draft_.executions = executions_in(plan, graph);
  if (!is_plain(plan)) return;
  // The same decisions must give the same plan, or what is changed would be compared with something else.
  const EditedPlan same = finished(draft_.executions);
  possible_ = same.plan && same.plan->lower_bound == plan.lower_bound &&
              std::abs(same.plan->seconds - plan.seconds) <= 1e-9 * plan.seconds;
}

EditedPlan PlanEdits::finished(std::vector<Execution> executions, const RegionPlans* regions) const {
  Draft draft = draft_;
  draft.executions = std::move(executions);
  if (regions) draft.regions = regions;
  draft = layout(liveness(in_place(std::move(draft))));
  Plan plan = finish(draft);
  plan.duplicates = plan_.duplicates;
  plan.least_seconds = std::min(plan.seconds, plan_.least_seconds);
  plan.seconds_bound = std::min(plan.seconds, plan_.seconds_bound);
  if (!problems(graph_, plan, *draft_.target).empty())
    return {{}, "kernels would have to be put together in another way"};
  return {std::move(plan), {}};
}

EditedPlan PlanEdits::recomputed(ValueId root) const {
  if (!possible_) return {{}, "values wait in several memories"};
  const Lives lives(draft_, draft_.executions);
  if (graph_.is_input(root)) return {{}, "an input is always there"};
  if (lives.is_pinned(root)) return {{}, "a result of the program stays to its end"};
  const std::optional<std::size_t> use = lives.use_after_wait(root);
  if (!use) return {{}, "its readers follow each other without a wait"};
  const std::size_t begin = lives.kernel_begin(*use), end = lives.kernel_end(*use);
  const Chain chain = chain_to(draft_, lives, root, begin);
  if (!chain.why_not.empty()) return {{}, chain.why_not};

  // All of the chain in the reader's kernel, or its last run, or none of it: the fastest that is right.
  int next_group = 0;
  for (const Execution& run : draft_.executions) next_group = std::max(next_group, run.group + 1);
  const auto with = [&](std::size_t joined) {
    std::vector<Execution> runs(draft_.executions.begin(),
                                draft_.executions.begin() + static_cast<std::ptrdiff_t>(begin));
    const int own = draft_.executions[*use].group;
    const int group = own >= 0 ? own : next_group;
    for (std::size_t i = 0; i < chain.nodes.size(); ++i)
      runs.push_back({.node = chain.nodes[i], .group = i + joined < chain.nodes.size() ? -1 : group});
    for (std::size_t t = begin; t < draft_.executions.size(); ++t) {
      runs.push_back(draft_.executions[t]);
      if (joined > 0 && t < end) runs.back().group = group;
    }
    return runs;
  };
  const auto may_join = [&](NodeId n) {
    const PlannedCall call(draft_, graph_[n]);
    const Fusion fusion = draft_.target->fusion(call);
    return (fusion == Fusion::pointwise || fusion == Fusion::window) && graph_[n].regions.empty() &&
           draft_.target->scratch(call) == 0;
  };
  std::size_t fusable = 0;  // of the chain's end
  while (fusable < chain.nodes.size() && may_join(chain.nodes[chain.nodes.size() - 1 - fusable])) ++fusable;
  const bool reader_joins = draft_.executions[*use].group >= 0 || may_join(draft_.executions[*use].node);
  fusable =
      reader_joins ? std::min(fusable, most_runs_in_group - std::min(most_runs_in_group, end - begin)) : 0;
  EditedPlan best = finished(with(0));
  for (const std::size_t joined : std::array{fusable, std::size_t{1}}) {
    if (joined == 0 || joined > fusable) continue;
    EditedPlan other = finished(with(joined));
    if (other.plan && (!best.plan || other.plan->seconds < best.plan->seconds)) best = std::move(other);
    if (fusable == 1) break;
  }
  return best;
}

std::optional<double> PlanEdits::seconds_again(ValueId root) const {
  const Lives lives(draft_, draft_.executions);
  const std::optional<std::size_t> use = lives.use_after_wait(root);
  if (graph_.is_input(root) || lives.is_pinned(root) || !use) return {};
  const Chain chain = chain_to(draft_, lives, root, lives.kernel_begin(*use));
  if (!chain.why_not.empty()) return {};
  double seconds = 0;
  for (const NodeId n : chain.nodes)
    seconds += seconds_of(*draft_.machine, *draft_.target, PlannedCall(draft_, graph_[n]));
  return seconds;
}

EditedPlan PlanEdits::kept(ValueId root) const {
  if (!possible_) return {{}, "values wait in several memories"};
  const auto read_in_group = [&](const std::vector<Execution>& behind, int group, ValueId v) {
    for (std::size_t i = behind.size(); i-- > 0 && behind[i].group == group;) {
      for (const ValueId operand : graph_[behind[i].node].operands) {
        if (draft_.root(operand) == v) return true;
      }
    }
    return false;
  };
  const NodeId maker = graph_[root].producer;
  std::vector<bool> ran(graph_.nodes().size(), false);
  std::vector<Execution> runs;
  std::vector<bool> first;
  for (const Execution& run : draft_.executions) {
    const bool again = ran[run.node.index];
    if (run.node == maker && again) continue;
    ran[run.node.index] = true;
    runs.push_back(run);
    first.push_back(!again);
  }
  if (runs.size() == draft_.executions.size()) return {{}, "it is computed once"};
  // What was made again for these runs alone goes too.
  std::vector<bool> wanted = output_roots(draft_);
  std::vector<Execution> rest;
  for (std::size_t t = runs.size(); t-- > 0;) {
    const Node& node = graph_[runs[t].node];
    const bool serves = std::ranges::any_of(node.results, [&](ValueId v) {
      return runs[t].duplicate ? read_in_group(rest, runs[t].group, v) : wanted[v.index];
    });
    if (!first[t] && !serves) continue;
    if (!runs[t].duplicate) {
      for (const ValueId v : node.results) wanted[v.index] = false;
    }
    for (const ValueId v : node.operands) wanted[draft_.root(v).index] = true;
    rest.push_back(runs[t]);
  }
  std::ranges::reverse(rest);
  // A kernel of which one run is left is no group.
  for (std::size_t t = 0; t < rest.size(); ++t) {
    const int group = rest[t].group;
    const bool before = t > 0 && rest[t - 1].group == group;
    const bool behind = t + 1 < rest.size() && rest[t + 1].group == group;
    if (group >= 0 && !before && !behind) rest[t].group = -1;
  }
  return finished(std::move(rest));
}

EditedPlan PlanEdits::with_body(NodeId node, std::size_t region, Plan body) const {
  if (!possible_) return {{}, "values wait in several memories"};
  std::vector<NodePlans> bodies = plan_.bodies;
  const auto found = std::ranges::find(bodies, node, &NodePlans::node);
  if (found == bodies.end() || region >= found->regions.size()) return {{}, "it has no such body"};
  found->regions[region] = std::move(body);
  const std::shared_ptr<const RegionPlans> regions = regions_of(graph_, std::move(bodies));
  return finished(draft_.executions, regions.get());
}

}  // namespace tidemark
