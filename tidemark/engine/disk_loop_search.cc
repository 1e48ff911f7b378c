#include "tidemark/engine/disk_loop_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/state_safety.h"

namespace tidemark {
namespace {

constexpr int most_plans = 5;
constexpr double worth_a_try = 1.02;       // of what the best takes, by the formula: it is about as exact
constexpr double not_worth_a_disk = 1e-5;  // of the time
// Each segment is several loops in the graph, each with its body: that is what planning can carry.
constexpr std::int64_t most_segments = 1024, most_nodes = 60'000;

int disk_of(const Machine& machine) {
  const auto found = std::ranges::find(machine.further, disk_memory_name, &MachineMemory::name);
  return found == machine.further.end() ? 0 : static_cast<int>(found - machine.further.begin()) + 1;
}

double region_seconds(const Graph& region, const PlanOptions& options) {
  return make_plan(region, target_of(options), {.machine = options.machine, .effort = Effort::quick}).seconds;
}

// One of the options' own, or bytes that the loops bring.
std::vector<TierBudget> tiers_for(const PlanOptions& options, const std::vector<DiskLoop>& loops) {
  if (!options.tiers.empty()) return options.tiers;
  std::int64_t bytes = 0;
  for (const DiskLoop& loop : loops) bytes += loop.disk;
  return {{std::string(disk_memory_name), bytes}};
}

HintReport no_effect(SourceLine where, std::string reason) {
  return {.kind = HintKind::offload, .where = where, .reason = std::move(reason)};
}

}  // namespace

Machine with_disk(Machine machine) {
  const Machine& reference = reference_machine();
  const int there = disk_of(reference);
  if (disk_of(machine) == 0)
    machine.further.push_back(reference.further[static_cast<std::size_t>(there) - 1]);
  const int here = disk_of(machine);
  const auto add = [&](Link link, int from, int to) {
    link.from = from, link.to = to;
    if (!find_link(machine, from, to)) machine.links.push_back(link);
  };
  add(*find_link(reference, 0, there), 0, here);
  add(*find_link(reference, there, 0), here, 0);
  return machine;
}

DiskLoopSearch::DiskLoopSearch(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                               const PlanOptions& options)
    : unlowered_(unlowered),
      skip_(skip_optimisations),
      wishes_(folder_wishes(unlowered)),
      loops_(wishes_.empty() ? std::vector<DiskLoop>() : disk_loops(unlowered)),
      loop_count_(loops_.empty() ? 0 : loop_modes(unlowered).size()),
      machine_(with_disk(options.machine ? *options.machine : reference_machine())),
      options_(options) {
  options_.machine = &machine_;
  options_.tiers = tiers_for(options, loops_);
  options_.warm_start.clear();
  options_.after = {};
  options_.effort = options_.effort.at_most(Effort::quick);
  options_.one_round = true;
  options_.floor = false;
  options_.regions = &regions_;
  if (!options.memory) options_.allow = options.allow.without(Choice::recompute);
}

std::string DiskLoopSearch::why_not(const DiskLoop& loop) const {
  if (!options_.allow.has(Choice::disk)) return "the disk is not among what the plan may use";
  if (!loop.replayable) return "its steps may not run again, so all that its reverse reads is kept";
  const bool unlimited = loop.memory < 0 && !options_.memory;
  if (unlimited || (loop.memory >= 0 && loop.record_bytes() * loop.trips <= loop.memory))
    return "its memory holds all that its reverse reads";
  if (loop.trips < 2) return "it has no second step";
  return {};
}

DiskLoopRates DiskLoopSearch::rates_of(const DiskLoop& loop) const {
  const int disk = disk_of(machine_);
  return {.step = region_seconds(loop.step, options_),
          .back = region_seconds(loop.back, options_),
          .out = *find_link(machine_, 0, disk),
          .in = *find_link(machine_, disk, 0)};
}

std::vector<DiskCut> DiskLoopSearch::cuts_of(const DiskLoop& loop, const DiskLoopRates& rates,
                                             std::int64_t available) const {
  const auto nodes = static_cast<std::int64_t>(2 * loop.step.nodes().size() + loop.back.nodes().size());
  const std::int64_t most = std::clamp<std::int64_t>(most_nodes / (nodes + 1), 2, most_segments);
  const auto tier = std::ranges::find(options_.tiers, disk_memory_name, &TierBudget::memory);
  const std::int64_t disk = tier == options_.tiers.end() ? 0 : std::min(loop.disk, tier->bytes);
  if (loop.memory >= 0) return disk_cuts(loop, rates, loop.memory, disk, most);
  // As much as the budget of the program leaves, or less.
  std::vector<DiskCut> cuts;
  for (int part = 2; part <= 8; part *= 2) {
    for (DiskCut& cut : disk_cuts(loop, rates, available / part, disk, most)) {
      cut.kind = cut.kind * 10 + part;
      cuts.push_back(cut);
    }
  }
  std::ranges::stable_sort(cuts, {}, &DiskCut::seconds);
  return cuts;
}

// Each loop with the way that is left to be tried first.
std::optional<PlanWithLoops> DiskLoopSearch::planned(const std::vector<Waiting>& waiting,
                                                     const LoopMemory& others, std::int64_t budget) {
  LoopMemory memory = others;
  memory.limits.resize(loop_count_, memory.each);
  PlanOptions options = options_;
  options.memory = budget;
  for (const auto& [loop, ways] : waiting) {
    const DiskCut& cut = ways.front();
    LoopLimit& limit = memory.limits[loop->number];
    limit.own = cut.own;
    limit.segments = cut.segments;
    limit.again = cut.again;
    limit.on_disk = true;
    if (!options_.memory) *options.memory += cut.beside;
  }
  Graph graph = prepare_lowered(unlowered_, skip_, nullptr, memory, target_of(options_));
  Result<Plan, Infeasible> plan = plan_safely(graph, options);
  if (!plan) return {};
  return PlanWithLoops{std::move(graph), std::move(plan), std::move(memory)};
}

std::optional<PlanWithLoops> DiskLoopSearch::fastest(std::vector<Waiting> waiting, const LoopMemory& others,
                                                     std::int64_t budget, double rest) {
  std::optional<PlanWithLoops> best;
  for (int left = most_plans; left > 0; --left) {
    double seconds = rest;
    for (const Waiting& loop : waiting) {
      if (loop.ways.empty()) return best;
      seconds += loop.ways.front().seconds;
    }
    const bool late = options_.control && options_.control->time_is_up();
    if (best && (late || seconds > worth_a_try * best->plan.value().seconds)) return best;

    std::optional<PlanWithLoops> found = planned(waiting, others, budget);
    for (Waiting& loop : waiting) {
      const DiskCut tried = loop.ways.front();
      loop.ways.erase(loop.ways.begin());
      // With a few segments less it would not fit either.
      if (!found) {
        std::erase_if(loop.ways, [&](const DiskCut& cut) {
          return cut.kind == tried.kind && 2 * cut.segments > tried.segments;
        });
      }
    }
    if (!found || (best && found->plan.value().seconds >= best->plan.value().seconds)) continue;
    best = std::move(found);
  }
  return best;
}

PlanWithLoops DiskLoopSearch::best_with(PlanWithLoops whole, const LoopMemory& others) {
  std::vector<HintReport> reports;
  for (const FolderWish& wish : wishes_) {
    const bool is_alone = std::ranges::count(loops_, wish.where, &DiskLoop::where) == 0;
    if ((!wish.inside && !is_alone) || std::ranges::count(reports, wish.where, &HintReport::where) > 0)
      continue;
    reports.push_back(no_effect(wish.where, wish.inside
                                                ? "bodies of loops do not use the disk"
                                                : "several gradients read its states, and all are kept"));
  }
  const Plan& plain = whole.plan ? whole.plan.value() : whole.plan.error().smallest;
  const double least_seconds = plain.least_seconds;
  std::int64_t budget = options_.memory.value_or(plain.peak());
  double rest = plain.seconds;  // without these loops
  std::vector<Waiting> waiting;
  for (const DiskLoop& loop : loops_) {
    std::string reason = why_not(loop);
    const bool costs_nothing = whole.plan && plain.extra_time() < not_worth_a_disk;
    if (reason.empty() && loop.memory < 0 && costs_nothing)
      reason = "the budget is met without computing anything again";
    const DiskLoopRates rates = reason.empty() ? rates_of(loop) : DiskLoopRates();
    std::vector<DiskCut> ways;
    if (reason.empty()) ways = cuts_of(loop, rates, budget - plain.input_bytes);
    if (reason.empty() && ways.empty())
      reason = "the disk has no room for a state, or a state is too small for it";
    if (!reason.empty()) {
      reports.push_back(no_effect(loop.where, std::move(reason)));
      continue;
    }
    if (!options_.memory)
      budget += std::max<std::int64_t>(0, (1 + most_states_beside) * loop.state_bytes() - loop.memory);
    rest -= seconds_alone(loop, rates, loop.memory);
    waiting.push_back({&loop, std::move(ways)});
  }
  std::optional<PlanWithLoops> best;
  if (!waiting.empty()) best = fastest(waiting, others, budget, std::max(0.0, rest));
  const bool faster = best && (!whole.plan || best->plan.value().seconds < plain.seconds);
  for (const Waiting& loop : waiting) {
    if (faster) continue;
    reports.push_back(no_effect(loop.loop->where,
                                best ? "computing steps again is predicted to be faster"
                                     : "no plan was found that has it wait there and keeps to the memory"));
  }
  PlanWithLoops result = faster ? *std::move(best) : std::move(whole);
  if (!result.plan) return result;
  Plan& plan = result.plan.value();
  if (!options_.memory) plan.budget = 0;  // nobody asked for one
  plan.least_seconds = std::min({plan.least_seconds, plan.seconds, least_seconds});
  plan.seconds_bound = std::min(plan.seconds_bound, plan.least_seconds);
  plan.hints.insert(plan.hints.end(), reports.begin(), reports.end());
  return result;
}

}  // namespace tidemark
