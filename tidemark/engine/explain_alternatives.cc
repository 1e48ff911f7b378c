#include "tidemark/engine/explain_alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tidemark/engine/plan_target.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_edits.h"

namespace tidemark {
namespace {

std::string bytes_text(std::int64_t n) { return to_string(Bytes(n)); }

// Seconds as people count them.
std::string time_text(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 1) return fmt::format("{:.3g} s", seconds);
  if (size >= 1e-3) return fmt::format("{:.3g} ms", 1e3 * seconds);
  return fmt::format("{:.3g} us", 1e6 * seconds);
}

constexpr double bytes_per_mib = 1048576.0;
constexpr std::string_view unplanned = "; this plan changed, since a hint has no effect here";
constexpr double same_time = 1e-7;  // as a share: rounding of sums

class Alternatives {
 public:
  Alternatives(Explanation& explanation, const std::vector<PlannedRegion>& regions,
               const PlanOptions& options, bool force)
      : explanation_(explanation),
        regions_(regions),
        options_(options),
        force_(force),
        machine_(options.machine ? *options.machine : reference_machine()),
        plan_(*regions.front().plan) {}

  void run() {
    for (ExplainedValue& value : explanation_.values) {
      for (const Decision other : others(value)) value.alternatives.push_back(look_at(value, other));
      for (const Alternative& other : value.alternatives) {
        // What it takes to make it again, as the plan without it says: more than its own runs where others
        // serve them.
        if (value.decision == Decision::recomputed && other.decision == Decision::kept &&
            other.basis == Basis::edited)
          value.cost_seconds = std::max(0.0, -other.seconds_change);
      }
    }
    compare_prices();
    for (ExplainedValue& value : explanation_.values) value.why = why(value);
  }

 private:
  // Of values that are kept: is a MiB of them dearer than all that is computed again?
  void compare_prices() {
    double most = 0;
    for (const ExplainedValue& value : explanation_.values) {
      for (const Alternative& other : value.alternatives) {
        if (value.decision == Decision::recomputed && other.basis == Basis::edited && other.peak_change > 0)
          most = std::max(most,
                          -other.seconds_change / (static_cast<double>(other.peak_change) / bytes_per_mib));
      }
    }
    for (ExplainedValue& value : explanation_.values) {
      for (Alternative& other : value.alternatives) {
        const std::optional<double> each = other.seconds_per_mib();
        if (value.decision != Decision::kept || other.basis != Basis::edited || !each || most <= 0) continue;
        if (*each > most)
          other.why += fmt::format(", what is computed again here takes {} at most", time_text(most));
      }
    }
  }

  bool has_tier(Decision decision) const {
    return std::ranges::any_of(options_.tiers, [&](const TierBudget& tier) {
      return (tier.memory == host_memory_name) == (decision == Decision::host);
    });
  }

  std::vector<Decision> others(const ExplainedValue& value) const {
    std::vector<Decision> list;
    const bool moves = value.decision == Decision::host || value.decision == Decision::disk;
    const bool waits = value.decision == Decision::kept || value.decision == Decision::recomputed || moves;
    if (!waits) {
      if (value.decision == Decision::compressed || value.decision == Decision::inverted)
        list.push_back(Decision::kept);
      return list;
    }
    if (value.decision != Decision::kept) list.push_back(Decision::kept);
    if (value.decision != Decision::recomputed) list.push_back(Decision::recomputed);
    for (const Decision tier : {Decision::host, Decision::disk}) {
      if (options_.memory && value.decision != tier && value.region == 0 && has_tier(tier))
        list.push_back(tier);
    }
    return list;
  }

  Alternative look_at(const ExplainedValue& value, Decision decision) {
    Alternative other{.decision = decision};
    if (value.decision == Decision::compressed || value.decision == Decision::inverted) {
      other.why = fmt::format("that is another program: plan it without, with --allow that does not name {}",
                              value.decision == Decision::compressed ? "compress" : "invert");
    } else if (decision == Decision::host || decision == Decision::disk) {
      look_at_move(value, other);
    } else if (force_) {
      look_at_plan(value, other);
    } else {
      look_at_edit(value, other);
    }
    return other;
  }

  // --- everything else as it is ---

  const PlanEdits& edits(int region) {
    auto found = edits_.find(region);
    if (found == edits_.end()) {
      const PlannedRegion& planned = regions_[static_cast<std::size_t>(region)];
      found = edits_
                  .try_emplace(region, *planned.graph, *planned.plan, target_of(options_), machine_,
                               options_.skip)
                  .first;
    }
    return found->second;
  }

  // A change in a body, as the program around it sees it.
  EditedPlan brought_out(int region, EditedPlan edited) {
    while (edited.plan && regions_[static_cast<std::size_t>(region)].parent >= 0) {
      const PlannedRegion& inner = regions_[static_cast<std::size_t>(region)];
      const std::vector<std::uint32_t>& path = inner.region.path;
      edited =
          edits(inner.parent).with_body(NodeId(path[path.size() - 2]), path.back(), std::move(*edited.plan));
      region = inner.parent;
    }
    return edited;
  }

  void look_at_edit(const ExplainedValue& value, Alternative& other) {
    const PlanEdits& edit = edits(value.region);
    if (!edit.possible()) return estimate(value, other);
    const bool again = other.decision == Decision::recomputed;
    EditedPlan edited = again ? edit.recomputed(ValueId(value.value)) : edit.kept(ValueId(value.value));
    edited = brought_out(value.region, std::move(edited));
    if (!edited.plan) {
      other.why = edited.why_not;
      return;
    }
    take(*edited.plan, Basis::edited, other);
    other.why = again ? why_not_again(other) : why_not_kept(other);
  }

  // Where no plan can be made by a change of this one.
  void estimate(const ExplainedValue& value, Alternative& other) {
    if (other.decision == Decision::recomputed) {
      const std::optional<double> again = edits(value.region).seconds_again(ValueId(value.value));
      if (!again) {
        other.why = "it may not run again there, or nobody waits for it";
        return;
      }
      other.seconds_change = *again - (value.decision == Decision::recomputed ? value.cost_seconds : 0);
    } else {
      // Copies run beside computing: no more can be saved than the plan takes for want of memory.
      const double extra = std::max(0.0, plan_.seconds - plan_.least_seconds);
      other.seconds_change = -std::min(value.cost_seconds, extra);
    }
    other.basis = Basis::estimate;
    other.why = estimated;
  }
  static constexpr std::string_view estimated = "an estimate by the cost model; --force plans it";

  void take(const Plan& plan, Basis basis, Alternative& other) const {
    other.basis = basis;
    other.peak = plan.peak();
    other.peak_change = plan.peak() - plan_.peak();
    other.seconds_change = plan.seconds - plan_.seconds;
    other.fits = plan_.budget == 0 || other.peak <= plan_.budget;
  }

  std::string why_not_again(const Alternative& other) const {
    if (other.peak_change >= 0) return "the peak would not fall";
    if (plan_.budget == 0) return "no budget asks for it";
    const std::optional<double> each = other.seconds_per_mib();
    if (!each || *each <= 0) return "the budget is met without it";
    return fmt::format("the budget is met without it; {} for each MiB", time_text(*each));
  }

  std::string why_not_kept(const Alternative& other) const {
    if (!other.fits) return fmt::format("{} above the budget", bytes_text(other.peak - plan_.budget));
    if (other.seconds_change < -same_time * plan_.seconds)
      return plan_.budget > 0 ? "it would fit and be faster: the search missed it; --effort best looks longer"
                              : "a hint asks for it";
    return "making it again takes no longer";
  }

  // --- the rest is planned again ---

  void look_at_plan(const ExplainedValue& value, Alternative& other) {
    const bool again = other.decision == Decision::recomputed;
    const bool moves = other.decision == Decision::disk;
    forced(value, moves ? HintKind::offload : again ? HintKind::recompute : HintKind::keep, other);
  }

  void forced(const ExplainedValue& value, HintKind kind, Alternative& other) {
    const PlannedRegion& region = regions_[static_cast<std::size_t>(value.region)];
    for (const Hint& hint : region.graph->hints()) {
      if (hint.value != ValueId(value.value) || hint.kind == HintKind::compress) continue;
      other.why = fmt::format("your hint {} asks for what is{}", name_of(hint.kind),
                              hint.where.known() ? fmt::format(" ({})", short_form(hint.where)) : "");
      return;
    }
    const Graph graph = with_hint(*regions_.front().graph, region.region.path, ValueId(value.value), kind);
    const Result<Plan, Infeasible> found = try_plan(graph, target_of(options_), options_);
    const Plan& plan = found ? found.value() : found.error().smallest;
    if (const HintReport* report = report_of(plan, region.region.path); report && !report->honoured) {
      // The order in which hints are followed may be another one than this plan's.
      look_at_edit(value, other);
      other.why = other.basis == Basis::none ? report->reason : other.why + std::string(unplanned);
      return;
    }
    take(plan, Basis::planned, other);
    if (!found) {
      other.fits = false;
      other.why = fmt::format("no plan for that was found within the budget; the smallest takes {} more",
                              bytes_text(other.peak - plan_.budget));
    } else if (other.seconds_change > same_time * plan_.seconds) {
      other.why = "the fastest plan found for that is slower";
    } else if (other.seconds_change < -same_time * plan_.seconds && plan_.budget > 0) {
      other.why = "it is faster: the search missed it; --effort best looks longer";
    } else if (other.peak_change > 0) {
      other.why = "as fast, in more memory";
    } else if (other.seconds_change < -same_time * plan_.seconds) {
      other.why = "a hint asks for something else";
    } else {
      other.why = "as fast: either will do";
    }
  }

  // What became of the hint that was added last.
  const HintReport* report_of(const Plan& plan, const std::vector<std::uint32_t>& path) const {
    const Plan* at = &plan;
    const Graph* graph = regions_.front().graph;
    for (std::size_t i = 0; i + 1 < path.size(); i += 2) {
      const auto body = std::ranges::find(at->bodies, NodeId(path[i]), &NodePlans::node);
      if (body == at->bodies.end()) return nullptr;
      at = &body->regions[path[i + 1]];
      graph = &(*graph)[NodeId(path[i])].regions[path[i + 1]];
    }
    // Hints come before checkpoints; the one that was added is the last of them.
    const std::size_t checkpoints = graph->checkpoints().size();
    if (at->hints.size() <= checkpoints) return nullptr;
    return &at->hints[at->hints.size() - checkpoints - 1];
  }

  void look_at_move(const ExplainedValue& value, Alternative& other) {
    if (force_ && other.decision == Decision::disk) return look_at_plan(value, other);
    const std::string_view memory = other.decision == Decision::host ? host_memory_name : disk_memory_name;
    const auto found = std::ranges::find(machine_.further, memory, &MachineMemory::name);
    if (found == machine_.further.end()) {
      other.why = fmt::format("the machine has no {}", memory);
      return;
    }
    const int there = static_cast<int>(found - machine_.further.begin()) + 1;
    const Link *out = find_link(machine_, 0, there), *in = find_link(machine_, there, 0);
    if (!out || !in) {
      other.why = fmt::format("nothing leads to the {}", memory);
      return;
    }
    const auto size = static_cast<double>(value.bytes);
    other.basis = Basis::estimate;
    other.seconds_change = seconds_of(*out, size, true) + seconds_of(*in, size, true) -
                           (value.decision == Decision::recomputed ? value.cost_seconds : 0);
    other.why = estimated;
  }

  // --- why it is as it is ---

  std::string why(const ExplainedValue& value) const {
    switch (value.decision) {
      case Decision::argument:
        return "the caller's memory, there throughout";
      case Decision::result:
        return "handed to the caller";
      case Decision::brief:
        return "does not wait";
      case Decision::fused:
        return "kernels make it for themselves, piece by piece";
      case Decision::compressed:
        return fmt::format("waits in {}", bytes_text(value.waiting_bytes));
      case Decision::inverted:
        return "computed back from what was made of it";
      default:
        return value.alternatives.empty() ? "" : value.alternatives.front().why;
    }
  }

  Explanation& explanation_;
  const std::vector<PlannedRegion>& regions_;
  const PlanOptions& options_;
  const bool force_;
  const Machine& machine_;
  const Plan& plan_;
  std::map<int, PlanEdits> edits_;
};

}  // namespace

Graph with_hint(const Graph& graph, const std::vector<std::uint32_t>& path, ValueId value, HintKind kind) {
  Graph hinted = graph;
  Graph* region = &hinted;
  for (std::size_t i = 0; i + 1 < path.size(); i += 2)
    region = &(*region)[NodeId(path[i])].regions[path[i + 1]];
  const NodeId maker = (*region)[value].producer;
  region->add_hint(
      {.kind = kind, .value = value, .where = maker.valid() ? (*region)[maker].where : SourceLine()});
  return hinted;
}

void add_alternatives(Explanation& explanation, const std::vector<PlannedRegion>& regions,
                      const PlanOptions& options, bool force) {
  Alternatives(explanation, regions, options, force).run();
}

}  // namespace tidemark
