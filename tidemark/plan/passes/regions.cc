#include "tidemark/plan/passes/regions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/ir/print.h"

namespace tidemark {

struct Bodies::Region {
  const Graph* graph = nullptr;
  std::unique_ptr<Bodies> bodies;  // its own
  std::vector<Plan> plans;         // memory falls, time rises
  bool searched = false;
};

struct Bodies::Planned {
  NodeId node;
  std::vector<Region> regions;
  std::vector<Mode> modes;
};

Bodies::Bodies(const Graph& graph, const Target& target, const PlanOptions& options)
    : graph_(graph), target_(target), own_plans_(std::make_unique<RegionCache>()) {
  inside_.machine = options.machine;
  inside_.fixed_order = options.fixed_order;
  inside_.allow = options.allow;
  inside_.skip = options.skip;
  inside_.solvers = options.solvers;
  inside_.effort = options.effort;
  inside_.control = options.control;
  inside_.regions = options.regions ? options.regions : own_plans_.get();
  inside_.one_round = true;
  inside_.binds_outputs = true;
  inside_.check_every_pass = options.check_every_pass;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.regions.empty()) continue;
    Planned& planned = nodes_.emplace_back();
    planned.node = NodeId(n);
    for (const Graph& region : node.regions) {
      Region& body = planned.regions.emplace_back();
      body.graph = &region;
      body.bodies = std::make_unique<Bodies>(region, target, inside_);
      // Segments of a loop have the same body.
      std::vector<Plan>& free = inside_.regions->plans["free " + key_of(region)];
      if (free.empty()) free.push_back(plan_once(region, target, inside_, *body.bodies).value());
      body.plans = free;
    }
    combine(planned);
  }
}
Bodies::~Bodies() = default;

std::string Bodies::key_of(const Graph& region) const {
  return fmt::format("{} {}\n{}", inside_.effort.factor, to_string(inside_.allow), print(region));
}

std::size_t Bodies::size() const { return nodes_.size(); }
NodeId Bodies::node(std::size_t k) const { return nodes_[k].node; }
const std::vector<Bodies::Mode>& Bodies::modes(std::size_t k) const { return nodes_[k].modes; }

Bodies::Choice Bodies::tightest() const {
  Choice choice;
  for (const Planned& planned : nodes_) choice.push_back(planned.modes.size() - 1);
  return choice;
}

RegionPlans Bodies::in(const Choice& choice) const {
  RegionPlans plans;
  if (nodes_.empty()) return plans;
  plans.facts.resize(graph_.nodes().size());
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Planned& planned = nodes_[k];
    const Mode& mode = planned.modes[choice[k]];
    NodePlans& body = plans.bodies.emplace_back();
    body.node = planned.node;
    for (std::size_t r = 0; r < planned.regions.size(); ++r) {
      body.regions.push_back(planned.regions[r].plans[mode.plans[r]]);
      plans.facts[planned.node.index].push_back(facts_of(body.regions.back()));
    }
  }
  return plans;
}

bool Bodies::find_modes(std::int64_t worth) {
  bool any = false;
  for (Planned& planned : nodes_) {
    for (Region& region : planned.regions) {
      if (region.searched || region.plans.front().arena_bytes < std::max<std::int64_t>(worth, 1)) continue;
      region.searched = any = true;
      find_plans(region);
    }
    combine(planned);
  }
  return any;
}

bool Bodies::have_modes() const {
  return std::ranges::any_of(nodes_, [](const Planned& planned) { return planned.modes.size() > 1; });
}

// The smallest, and some at equal ratios between it and the one without a budget. What is no smaller than
// another, or no faster, is left out.
void Bodies::find_plans(Region& region) const {
  constexpr int between = 3;
  constexpr double share = 0.2;  // of the effort: there are several plans of each
  const Plan free = region.plans.front();
  const std::string key = key_of(*region.graph);
  if (const auto known = inside_.regions->plans.find(key); known != inside_.regions->plans.end()) {
    region.plans = known->second;
    return;
  }
  PlanOptions options = inside_;
  options.effort *= share;
  std::vector<Plan> found;
  options.floor = false;
  const auto plan = [&](std::int64_t memory) {
    options.memory = memory;
    Result<Plan, Infeasible> planned = plan_once(*region.graph, target_, options, *region.bodies);
    found.push_back(planned ? std::move(planned).value() : planned.error().smallest);
  };
  plan(0);
  const std::int64_t least = found.back().arena_bytes;
  const double ratio = static_cast<double>(least) / static_cast<double>(free.arena_bytes);
  for (int k = 1; k <= between && least > 0 && least < free.arena_bytes; ++k) {
    const double part = repeatable::pow(ratio, static_cast<double>(k) / (between + 1));
    plan(free.input_bytes + static_cast<std::int64_t>(part * static_cast<double>(free.arena_bytes)));
  }
  std::ranges::stable_sort(found, [](const Plan& a, const Plan& b) { return a.seconds < b.seconds; });
  for (Plan& tighter : found) {
    tighter.budget = 0;  // decided by the graph that it stands in
    Plan& last = region.plans.back();
    if (tighter.arena_bytes >= last.arena_bytes) continue;
    if (tighter.seconds <= last.seconds && region.plans.size() > 1) {
      last = std::move(tighter);
    } else {
      region.plans.push_back(std::move(tighter));
    }
  }
  inside_.regions->plans[key] = region.plans;
}

// Regions run one at a time in the same memory: each takes the fastest of its plans in what the largest must
// have.
void Bodies::combine(Planned& planned) const {
  const Machine& machine = inside_.machine ? *inside_.machine : reference_machine();
  std::vector<std::int64_t> heights;
  for (const Region& region : planned.regions) {
    for (const Plan& plan : region.plans) heights.push_back(plan.arena_bytes);
  }
  std::ranges::sort(heights, std::greater());
  planned.modes.clear();
  for (std::int64_t height : heights) {
    Mode mode;
    std::vector<RegionFacts> facts;
    for (const Region& region : planned.regions) {
      const auto plan = std::ranges::find_if(
          region.plans, [&](const Plan& p) { return p.arena_bytes <= height; });  // the first is the fastest
      if (plan == region.plans.end()) break;
      mode.plans.push_back(static_cast<std::size_t>(plan - region.plans.begin()));
      facts.push_back(facts_of(*plan));
    }
    if (mode.plans.size() < planned.regions.size()) break;
    NodeCall call(graph_, graph_[planned.node]);
    call.call.planned = facts;
    mode.scratch = target_.scratch(call);
    mode.seconds = seconds_of(machine, target_, call);
    if (planned.modes.empty() || mode.scratch < planned.modes.back().scratch)
      planned.modes.push_back(std::move(mode));
  }
}

}  // namespace tidemark
