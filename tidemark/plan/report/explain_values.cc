#include "tidemark/plan/report/explain_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/passes/draft.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/plan/report/memory_roles.h"
#include "tidemark/plan/report/packed.h"
#include "tidemark/plan/report/phases.h"
#include "tidemark/plan/spill/tier.h"

namespace tidemark {
namespace {

constexpr std::int64_t large_part = 64;    // of the peak
constexpr std::int64_t trifle = 64;        // bytes that are worth no line
constexpr std::size_t brief_part = 32;     // of all kernels: a wait of fewer is none
constexpr std::size_t fewest_between = 3;  // kernels that make a wait

// One version of a value in memory, or in none: from the step that makes it to its last reader.
struct Version {
  std::size_t made = 0;
  bool in_tile = false;
};

class ValueReader {
 public:
  ValueReader(const PlannedRegion& where, int number, std::int64_t peak, const Target& target,
              const Machine& machine, const std::vector<std::string>& skip)
      : graph_(*where.graph),
        plan_(*where.plan),
        number_(number),
        program_peak_(peak),
        target_(target),
        machine_(machine),
        draft_(make_draft(skip)),
        readers_(root_readers(draft_)),
        pinned_(output_roots(draft_)) {
    find_passes();
    find_steps();
    find_peak();
    find_packed();
  }

  // Every value that has memory of its own, or would have.
  std::vector<ExplainedValue> all() const {
    std::vector<ExplainedValue> list;
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const ValueId root(v);
      const bool is_made = graph_.is_input(root) || draft_.runs(graph_[graph_[root].producer]);
      if (is_made && !draft_.is_view(root)) list.push_back(describe(root));
    }
    return list;
  }
  bool is_worth_a_line(const ExplainedValue& value) const {
    const bool takes_memory = value.decision != Decision::fused;
    const bool large = value.bytes * large_part >= program_peak_ && takes_memory;
    return value.bytes > trifle && (large || value.crosses);
  }

 private:
  Draft make_draft(const std::vector<std::string>& skip) const {
    const auto runs = [&](std::string_view pass) { return std::ranges::count(skip, pass) == 0; };
    Draft draft(graph_, target_);
    draft.machine = &machine_;
    draft.binds_outputs = plan_.binds_outputs;
    if (runs("views")) draft = views(std::move(draft));
    if (runs("donate")) draft = donate(std::move(draft));
    return draft;
  }

  // Which nodes are of the forward pass, and which steps.
  void find_passes() {
    gradients_ = gradient_values(graph_, plan_);
    in_forward_ = forward_steps(graph_, plan_);
    forward_.assign(graph_.nodes().size(), false);
    for (std::size_t t = 0; t < plan_.steps.size(); ++t) {
      if (plan_.steps[t].kind == StepKind::compute && in_forward_[t])
        forward_[plan_.steps[t].node.index] = true;
    }
  }

  void find_steps() {
    versions_.resize(graph_.values().size());
    copies_.resize(graph_.values().size());
    kernel_.resize(plan_.steps.size() + 1);
    reads_.resize(graph_.values().size());
    const std::vector<double> seconds = is_plain(plan_) ? std::vector<double>(plan_.steps.size())
                                                        : step_seconds(graph_, plan_, target_, machine_);
    std::size_t kernel = 0;
    for (std::size_t t = 0; t < plan_.steps.size(); ++t) {
      const Step& step = plan_.steps[t];
      if (t > 0 && (step.group < 0 || step.group != plan_.steps[t - 1].group)) ++kernel;
      kernel_[t] = kernel;
      if (step.kind != StepKind::compute) {
        const ValueId root = draft_.root(step.in[0].value);
        if (step.kind == StepKind::copy) copies_[root.index].push_back(t);
        copy_seconds_[root.index] += seconds[t];
        continue;
      }
      for (const Ref& in : step.in) reads_[draft_.root(in.value).index].push_back(t);
      for (const Ref& out : step.out)
        versions_[out.value.index].push_back({t, plan_.buffers[out.buffer.index].binding == Binding::tile});
    }
    kernels_ = kernel + 1;
  }

  // What the first memory holds where the plan peaks.
  void find_peak() {
    at_peak_.assign(graph_.values().size(), false);
    if (plan_.steps.empty()) return;
    const std::int32_t peak = peak_step(plan_);
    std::vector<ValueId> holds(plan_.buffers.size());
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.buffers[b].binding == Binding::argument) holds[b] = plan_.buffers[b].value;
    }
    for (std::size_t t = 0; t < group_end(plan_, static_cast<std::size_t>(peak)); ++t) {
      for (const Ref& out : plan_.steps[t].out) holds[out.buffer.index] = draft_.root(out.value);
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      const bool there = buffer.begin <= peak && peak < buffer.end && buffer.memory == 0;
      if (there && buffer.binding != Binding::tile && holds[b].valid()) at_peak_[holds[b].index] = true;
    }
  }

  // What waits in a smaller form: the value, and what it was made into.
  void find_packed() {
    for (const Node& node : graph_.nodes()) {
      if (!unpacks_own(graph_, node, plan_.binds_outputs)) continue;
      const ValueId small = draft_.root(node.operands[0]);
      if (graph_.is_input(small)) continue;
      for (const ValueId v : graph_[graph_[small].producer].operands)
        packed_.try_emplace(draft_.root(v).index, small);
    }
  }

  ExplainedCall call_of(NodeId n) const {
    const Node& node = graph_[n];
    return {.node = n.index,
            .op = std::string(node.op->name),
            .where = short_form(node.where),
            .backward = !forward_[n.index]};
  }

  // The most kernels between two that make or read it, nothing made again between them.
  std::size_t longest_wait(ValueId root) const {
    std::vector<std::size_t> events = reads_[root.index];
    for (const Version& version : versions_[root.index]) events.push_back(version.made);
    std::ranges::sort(events);
    std::size_t longest = 0;
    for (std::size_t i = 1; i < events.size(); ++i)
      longest = std::max(longest, kernel_[events[i]] - kernel_[events[i - 1]]);
    return longest;
  }

  // How often it is made for want of memory or because a hint asks for it. A run for its own kernel, while
  // what was made before is still there, is a matter of speed alone, and so are all where nothing asks.
  int runs_of(ValueId root) const {
    const std::vector<Version>& versions = versions_[root.index];
    const bool asked = plan_.budget > 0 || !plan_.hints.empty() || plan_.binds_outputs;
    if (versions.empty() || !asked) return versions.empty() ? 0 : 1;
    int runs = 0;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const bool may_be_faster = i > 0 && versions[i].in_tile && plan_.duplicates.steps > 0;
      runs += !may_be_faster || !is_read_behind(root, versions[i].made);
    }
    return runs;
  }
  // Does a later step read it from memory?
  bool is_read_behind(ValueId root, std::size_t step) const {
    return std::any_of(plan_.steps.begin() + static_cast<std::ptrdiff_t>(step) + 1, plan_.steps.end(),
                       [&](const Step& later) { return reads_stored(later, root); });
  }
  bool reads_stored(const Step& step, ValueId root) const {
    return std::ranges::any_of(step.in, [&](const Ref& in) {
      return draft_.root(in.value) == root && plan_.buffers[in.buffer.index].binding != Binding::tile;
    });
  }

  Decision decision_of(ValueId root, const ExplainedValue& value) const {
    if (graph_.is_input(root)) return Decision::argument;
    if (draft_.home[root.index].valid()) return pinned_[root.index] ? Decision::result : Decision::brief;
    for (const std::size_t t : copies_[root.index]) {
      const auto to = static_cast<std::size_t>(plan_.buffers[plan_.steps[t].out[0].buffer.index].memory);
      if (to > 0) return plan_.further[to - 1].name == host_memory_name ? Decision::host : Decision::disk;
    }
    if (value.runs > 1) return Decision::recomputed;
    if (packed_.contains(root.index)) return Decision::compressed;
    if (graph_[graph_[root].producer].op->undoes) return Decision::inverted;
    if (std::ranges::all_of(versions_[root.index], &Version::in_tile)) return Decision::fused;
    if (pinned_[root.index]) return Decision::result;
    const std::size_t wait = longest_wait(root);
    const bool waits = wait > std::max(fewest_between, kernels_ / brief_part);
    return waits || value.crosses ? Decision::kept : Decision::brief;
  }

  // The memory of input i is the plan's buffer i.
  PeakRole role_of_input(std::uint32_t i) const {
    return i < spans_.size() && !spans_[i].empty() ? spans_[i].front().role : PeakRole::data;
  }
  PeakRole role_of(ValueId root, const ExplainedValue& value) const {
    if (graph_.is_input(root)) return role_of_input(graph_[root].result);
    if (gradients_[root.index]) return PeakRole::gradients;
    if (value.decision == Decision::result) return PeakRole::results;
    if (value.decision == Decision::recomputed) return PeakRole::recomputed;
    return value.crosses ? PeakRole::activations : PeakRole::temporaries;
  }

  ExplainedValue describe(ValueId root) const {
    ExplainedValue value{.value = root.index,
                         .name = graph_[root].name,
                         .type = to_string(graph_.type(root)),
                         .bytes = graph_.type(root).bytes(),
                         .region = number_};
    for (const NodeId reader : readers_[root.index]) value.consumers.push_back(call_of(reader));
    value.at_peak = at_peak_[root.index];
    value.runs = runs_of(root);
    if (!graph_.is_input(root)) {
      const NodeId maker = graph_[root].producer;
      value.producer = call_of(maker);
      // A forward node that runs again reads behind the forward pass too.
      const bool read_behind =
          std::ranges::any_of(value.consumers, &ExplainedCall::backward) ||
          std::ranges::any_of(reads_[root.index], [&](std::size_t t) { return !in_forward_[t]; });
      value.crosses = !value.producer->backward && read_behind;
      const RegionCall call(draft_, plan_, maker);
      value.seconds = seconds_of(machine_, target_, call);
    }
    value.decision = decision_of(root, value);
    value.role = role_of(root, value);
    switch (value.decision) {
      case Decision::argument:
      case Decision::result:
      case Decision::kept:
        value.waiting_bytes = value.bytes;
        break;
      case Decision::compressed:
        value.waiting_bytes = graph_.type(packed_.at(root.index)).bytes();
        break;
      default:
        break;
    }
    if (value.decision == Decision::recomputed) value.cost_seconds = (value.runs - 1) * value.seconds;
    if (const auto copies = copy_seconds_.find(root.index); copies != copy_seconds_.end())
      value.cost_seconds = copies->second;
    return value;
  }

  // A call as the plan makes it, with what is known of its regions.
  struct RegionCall {
    RegionCall(const Draft& draft, const Plan& plan, NodeId node)
        : facts(region_facts(plan, node)), planned(draft, (*draft.graph)[node]) {
      planned.types.call.planned = facts;
    }
    operator const Call&() const { return planned; }  // NOLINT: implicit by design
    std::vector<RegionFacts> facts;
    PlannedCall planned;
  };

  const Graph& graph_;
  const Plan& plan_;
  const int number_;
  const std::int64_t program_peak_;
  const Target& target_;
  const Machine& machine_;
  const Draft draft_;
  const std::vector<std::vector<NodeId>> readers_;
  const std::vector<bool> pinned_;
  const std::vector<std::vector<RoleSpan>> spans_ = roles_over_time(graph_, plan_);
  std::vector<bool> forward_, in_forward_, gradients_, at_peak_;
  std::vector<std::vector<Version>> versions_;            // per value
  std::vector<std::vector<std::size_t>> copies_, reads_;  // per root: steps
  std::map<std::uint32_t, double> copy_seconds_;          // per root
  std::map<std::uint32_t, ValueId> packed_;               // per root: its smaller form
  std::vector<std::size_t> kernel_;                       // per step
  std::size_t kernels_ = 0;
};

void add_bodies(std::vector<PlannedRegion>& list, int parent) {
  const Graph& graph = *list[static_cast<std::size_t>(parent)].graph;
  const Plan& plan = *list[static_cast<std::size_t>(parent)].plan;
  for (const NodePlans& body : plan.bodies) {
    const Node& node = graph[body.node];
    for (std::size_t r = 0; r < body.regions.size(); ++r) {
      ExplainedRegion region = list[static_cast<std::size_t>(parent)].region;
      const std::string which = body.regions.size() > 1 ? fmt::format("part {} of", r + 1) : "body of";
      const std::string at = node.where.known() ? fmt::format(" ({})", short_form(node.where)) : "";
      region.name = fmt::format("{} {}{}{}", which, node.op->name, at,
                                region.name.empty() ? "" : " in the " + region.name);
      region.path.push_back(body.node.index);
      region.path.push_back(static_cast<std::uint32_t>(r));
      list.push_back({&node.regions[r], &body.regions[r], std::move(region), parent});
      add_bodies(list, static_cast<int>(list.size()) - 1);
    }
  }
}

}  // namespace

std::vector<PlannedRegion> planned_regions(const Graph& graph, const Plan& plan) {
  std::vector<PlannedRegion> list{{&graph, &plan, {}, -1}};
  add_bodies(list, 0);
  return list;
}

std::vector<ExplainedValue> explained_values(const std::vector<PlannedRegion>& regions, const Target& target,
                                             const Machine& machine, const std::vector<std::string>& skip) {
  std::vector<ExplainedValue> list;
  const std::int64_t peak = regions.front().plan->peak();
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const ValueReader reader(regions[r], static_cast<int>(r), peak, target, machine, skip);
    std::vector<ExplainedValue> part = reader.all();
    std::erase_if(part, [&](const ExplainedValue& value) { return !reader.is_worth_a_line(value); });
    std::ranges::stable_sort(part, std::greater(), &ExplainedValue::bytes);
    std::ranges::move(part, std::back_inserter(list));
  }
  return list;
}

std::vector<DecidedValue> decisions_of(const std::vector<PlannedRegion>& regions, const Target& target,
                                       const Machine& machine, const std::vector<std::string>& skip) {
  std::vector<DecidedValue> list;
  const std::int64_t peak = regions.front().plan->peak();
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const ExplainedValue& value :
         ValueReader(regions[r], static_cast<int>(r), peak, target, machine, skip).all())
      list.push_back({regions[r].region.path, value.value, value.decision});
  }
  return list;
}

}  // namespace tidemark
