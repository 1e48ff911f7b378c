#include "tidemark/engine/loop_budget.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tidemark/autodiff/several_steps.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/disk_loop_search.h"
#include "tidemark/engine/loop_search.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/segment_search.h"
#include "tidemark/engine/state_safety.h"

namespace tidemark {
namespace {

constexpr double no_time = 1e-5;  // a share of it that is not worth looking further

PlanWithLoops plan_of_search(const LoopSearch& search, Graph graph, const PlanOptions& options) {
  if (!search.found()) {
    Result<Plan, Infeasible> plan = plan_safely(graph, options);
    return {std::move(graph), std::move(plan), search.chosen()};
  }
  // Something fits: no need to look for the smallest.
  PlanOptions enough = options;
  enough.floor = false;
  Result<Plan, Infeasible> plan = make_safe(
      graph, [&](const Graph& g) { return try_plan(g, target_of(enough), enough); },
      [](const Result<Plan, Infeasible>& made) { return made ? &made.value() : nullptr; });
  const auto& [other, found] = *search.found();
  if (!plan || found.seconds < plan.value().seconds) return {other, found, search.chosen()};
  return {std::move(graph), std::move(plan), search.chosen()};
}

// What loops compute again, or what segments of them copy, is extra time too; and loops in other modes may be
// faster.
PlanWithLoops with_least_seconds(PlanWithLoops found, double least) {
  const auto corrected = [&](Plan plan) {
    plan.least_seconds = std::min({plan.least_seconds, plan.seconds, least});
    plan.seconds_bound = std::min(plan.seconds_bound, plan.least_seconds);
    return plan;
  };
  if (found.plan) return {std::move(found.graph), corrected(found.plan.value()), std::move(found.loops)};
  const Infeasible& none = found.plan.error();
  return {std::move(found.graph), Infeasible{none.budget, corrected(none.smallest)}, std::move(found.loops)};
}

PlanWithLoops whole_loops(LoopSearch& search, const PlanOptions& options) {
  Graph graph = search.within_budget();
  if (search.keeps_all()) {
    Result<Plan, Infeasible> plan = plan_safely(graph, options);
    return {std::move(graph), std::move(plan)};
  }
  PlanWithLoops found = plan_of_search(search, std::move(graph), options);
  // Nothing computed again is one of the choices: what does not fit may wait elsewhere.
  PlanOptions once = options;
  once.allow = options.allow.without(Choice::recompute);
  once.floor = false;
  Graph all = search.keeping_all();
  Result<Plan, Infeasible> kept = plan_safely(all, once);
  if (kept && (!found.plan || kept.value().seconds < found.plan.value().seconds))
    return {std::move(all), std::move(kept)};
  return with_least_seconds(std::move(found), search.free_seconds());
}

// The same with stencils that take several steps at once, where that fits and is faster: with what loops keep
// now, and with all of it, for which there may be room since kernels hold what lies between their steps.
PlanWithLoops with_several_steps(PlanWithLoops found, const Graph& unlowered,
                                 const std::vector<std::string>& skip_optimisations,
                                 const PlanOptions& options) {
  const Target& target = target_of(options);
  if (!found.plan || target.most_halo == 0) return found;
  const auto lowered = [&](const LoopMemory& loops) {
    return prepare_lowered(unlowered, skip_optimisations, nullptr, loops, target);
  };
  PlanOptions once = options;
  once.floor = false;
  // A search within a budget may find something slower than what fits by itself.
  const auto planned = [&](Graph& graph) {
    if (!options.memory) return plan_safely(graph, once);
    PlanOptions plain = once;
    plain.memory.reset();
    plain.tiers.clear();
    Graph g = graph;
    Plan plan = make_safe(g, [&](const Graph& safe) { return make_plan(safe, target, plain); });
    if (plan.peak() > *options.memory) return plan_safely(graph, once);
    plan.budget = *options.memory;
    graph = std::move(g);
    return Result<Plan, Infeasible>(std::move(plan));
  };
  const auto consider = [&](LoopMemory loops, bool has_steps) {
    if (!has_steps || (options.control && options.control->time_is_up())) return;
    loops.several_steps = true;
    Graph graph = lowered(loops);
    Result<Plan, Infeasible> plan = planned(graph);
    const double least_seconds = found.plan.value().least_seconds;
    if (!plan || plan.value().seconds >= found.plan.value().seconds) return;
    found = with_least_seconds({std::move(graph), std::move(plan), std::move(loops)}, least_seconds);
  };
  const bool keeps_less = !found.loops.limits.empty();
  consider(found.loops, has_steps_to_join(found.graph, target));
  if (keeps_less) consider({}, has_steps_to_join(lowered({}), target));
  return found;
}

}  // namespace

PreparedLoops prepare_within(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                             const PlanOptions& options) {
  LoopSearch search(traced, skip_optimisations, options);
  Graph graph = search.within_budget();
  return {std::move(graph), search.chosen()};
}

namespace {

// Loops whole or in segments, as the options' tiers have room; the disks of loops are left alone.
PlanWithLoops within_budget(LoopSearch& search, const std::vector<std::string>& skip_optimisations,
                            const PlanOptions& options) {
  SegmentSearch segments(search.unlowered(), skip_optimisations, options);
  if (segments.empty()) return whole_loops(search, options);
  PlanWithLoops whole = [&] {
    constexpr double part = 0.4;
    const TimeShare share(options.control, part);
    return whole_loops(search, options);
  }();
  if (whole.plan && whole.plan.value().extra_time() < no_time) return whole;
  std::optional<PlanWithLoops> cut = segments.within_budget();
  const Plan& other = whole.plan ? whole.plan.value() : whole.plan.error().smallest;
  const double least_seconds = other.least_seconds;
  if (cut && (!whole.plan || cut->plan.value().seconds < other.seconds))
    return with_least_seconds(*std::move(cut), least_seconds);
  // Where nothing fits, the smaller one is the smallest there is.
  if (whole.plan || !options.floor || !segments.smallest()) return whole;
  const auto& [graph, smallest, loops] = *segments.smallest();
  if (smallest.value().peak() >= other.peak()) return whole;
  return with_least_seconds({graph, Infeasible{*options.memory, smallest.value()}, loops}, least_seconds);
}

}  // namespace

PlanWithLoops plan_with_loops(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                              const PlanOptions& options) {
  LoopSearch search(traced, skip_optimisations, options);
  PlanWithLoops found = options.memory ? within_budget(search, skip_optimisations, options)
                                       : plan_of_search(search, search.within_budget(), options);
  DiskLoopSearch disks(search.unlowered(), skip_optimisations, options);
  if (!disks.empty()) found = disks.best_with(std::move(found), search.loop_memory());
  return with_several_steps(std::move(found), search.unlowered(), skip_optimisations, options);
}

Graph prepare_smallest(const Graph& traced, const std::vector<std::string>& skip_optimisations,
                       const PlanOptions& options) {
  return LoopSearch(traced, skip_optimisations, options).smallest();
}

}  // namespace tidemark
