// How a plan comes about, top to bottom. Before the first pass the draft is a valid, wasteful plan: the given
// order, every value in memory of its own. Each pass keeps it valid and makes it smaller, so any optional one
// can be left out.
#include "tidemark/plan/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"
#include "tidemark/plan/passes/body_search.h"
#include "tidemark/plan/passes/passes.h"
#include "tidemark/plan/passes/regions.h"
#include "tidemark/plan/passes/timed_rounds.h"
#include "tidemark/plan/report/infeasible.h"
#include "tidemark/plan/spill/tier_search.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

using Row = PassRow<Draft>;
constexpr bool optional = true, required = false;

const Row passes[] = {
    {{"views", optional, "first: it decides which nodes run at all and whose memory a read keeps alive"},
     views},
    {{"donate", optional,
      "before order: a home in a donated input asks that its readers run first, which the order must "
      "respect"},
     donate},
    {{"order", optional,
      "before in_place: its evaluator counts the in-place reuses that each order allows, so none need be "
      "fixed "
      "yet"},
     order},
    {{"hints", optional,
      "after order: gaps, and so what is worth recomputing, are known only for an order; before in_place, "
      "which "
      "must see every reader"},
     hints},
    {{"remat", optional,
      "after order: which values wait, and how long, is known only for an order; before in_place, which must "
      "see every reader"},
     remat},
    {{"release", optional,
      "after order and remat, which count updates as runs by themselves and may let them wait; before fuse, "
      "which makes each update a kernel where it stands"},
     release},
    {{"fuse", optional,
      "after remat: what runs again joins its readers like anything else; before in_place, which goes by "
      "groups"},
     fuse},
    {{"duplicate", optional,
      "after fuse: only in kernels is making a value again cheaper than reading it; left out of all "
      "searches, "
      "and tried on what they chose"},
     duplicate},
    {{"in_place", optional, "after order: who is the last reader is known only now"}, in_place},
    {{"liveness", required, "after everything that decides who shares memory with whom"}, liveness},
    {{"layout", required, "last: addresses follow from lifetimes"}, layout},
};

// The required passes that are still missing, and the figures.
Plan finish_now(Draft draft) { return finish(layout(liveness(std::move(draft)))); }

std::int64_t checked_peak(const Draft& draft, std::string_view pass) {
  const Plan so_far = finish_now(draft);
  const std::vector<std::string> found = problems(*draft.graph, so_far, *draft.target);
  if (!found.empty()) {
    throw InternalError(
        fmt::format("a plan fails verification after the pass `{}`:\n  {}", pass, fmt::join(found, "\n  ")));
  }
  return so_far.peak();
}

constexpr std::string_view the_end = "";

// Passes of one planning, the verifier behind them, and what the caller wants to know of both.
class Planning {
 public:
  Planning(const PlanOptions& options, PipelineReport* report)
      : options_(options), report_(report), driver_(passes, options.skip) {
    if (options.fixed_order) driver_.leave_out("order");
    driver_.watch([](const Draft& draft, PassReport& pass) { pass.work_units -= draft.work_units; },
                  [&options](const Draft& draft, PassReport& pass) {
                    pass.work_units += draft.work_units;
                    if (options.after) options.after(pass.name, draft);
                    if (options.check_every_pass) pass.peak = checked_peak(draft, pass.name);
                  });
  }

  Draft run(Draft draft, std::string_view first, std::string_view last) {
    return driver_.run(std::move(draft), first, last);
  }

  // Remat and what follows, for a draft in which nothing is made again because it is faster.
  Draft rest(Draft draft) { return run(run(std::move(draft), "remat", "duplicate"), "in_place", the_end); }
  // The finished draft, or with what is faster made again: never slower than it was, nor higher.
  Draft duplicated(Draft done) {
    if (!options_.allow.has(Choice::recompute)) return done;
    Draft with = run(done, "duplicate", "in_place");
    if (with.duplicates.values == 0) return done;
    with.layout_height = options_.memory ? done.arena_bytes : -1;
    with.rough_layout = false;
    with = run(std::move(with), "in_place", the_end);
    const Plan before = finish(done);
    with.repeat_seconds = before.seconds - before.least_seconds;
    with.duplicates.seconds = before.seconds - finish(with).seconds;
    return with.duplicates.seconds > 0 && with.arena_bytes <= done.arena_bytes ? with : done;
  }

  SolverLog* solver_log() { return report_ ? &report_->solvers : nullptr; }

  Plan finish_verified(const Draft& draft) { return verified(finish(draft), *draft.graph, *draft.target); }
  Plan verified(Plan plan, const Graph& graph, const Target& target) {
    const auto start = std::chrono::steady_clock::now();
    plan.budget = options_.memory.value_or(0);
    if (plan.peak() > plan.budget) plan.budget = 0;  // the smallest there is, not one that was asked for
    verify_or_throw(graph, plan, target);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (report_)
      add_to_report({.name = "verify", .runs = 1, .seconds = seconds.count(), .peak = plan.peak()});
    return plan;
  }

 private:
  void add_to_report(PassReport verifying) {
    std::vector<PassReport> rows = driver_.reports();
    rows.push_back(verifying);
    for (std::size_t p = 0; p < report_->passes.size(); ++p) {  // of rounds before
      rows[p].runs += report_->passes[p].runs;
      rows[p].seconds += report_->passes[p].seconds;
      rows[p].work_units += report_->passes[p].work_units;
    }
    report_->passes = std::move(rows);
  }

  const PlanOptions& options_;
  PipelineReport* report_;
  PassDriver<Draft> driver_;
};

std::int64_t input_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Input& input : graph.inputs()) bytes += graph.type(input.value).bytes();
  return bytes;
}

Draft ordered_draft(const Graph& graph, const Target& target, const PlanOptions& options,
                    const RegionPlans& regions, Planning& planning) {
  Draft draft(graph, target);
  draft.work_factor = options.effort.factor;
  draft.solvers = options.solvers;
  draft.solver_log = planning.solver_log();
  draft.control = options.control;
  draft.order_is_given = options.fixed_order;
  draft.warm_start = options.warm_start;
  draft.binds_outputs = options.binds_outputs;
  draft.has_disk = options.memory && !options.binds_outputs &&
                   std::ranges::count(options.tiers, disk_memory_name, &TierBudget::memory) > 0;
  draft.groups = std::ranges::count(options.skip, "fuse") == 0;
  if (!regions.bodies.empty()) draft.regions = &regions;
  if (options.machine) draft.machine = options.machine;
  return planning.run(std::move(draft), "views", "remat");
}

}  // namespace

Result<Plan, Infeasible> plan_once(const Graph& graph, const Target& target, const PlanOptions& options,
                                   Bodies& bodies, PipelineReport* report) {
  Planning planning(options, report);
  if (options.control) options.control->enter("order", 0);
  const auto rest = [&](Draft aimed) { return planning.rest(std::move(aimed)); };
  if (!options.memory) {
    const RegionPlans regions = bodies.in(bodies.free());
    Draft done = rest(ordered_draft(graph, target, options, regions, planning));
    return planning.finish_verified(planning.duplicated(std::move(done)));
  }
  const auto ordered = [&](const RegionPlans& regions, double share) {
    PlanOptions part = options;
    part.effort *= share;
    return ordered_draft(graph, target, part, regions, planning);
  };
  const bool may_repeat = options.allow.has(Choice::recompute);
  const auto best = [&](bool repeating, std::int64_t allowed, bool floor, double part = 1) {
    const auto order = [&](const RegionPlans& regions, double share) {
      Draft draft = ordered(regions, part * share);
      draft.may_repeat = repeating;
      return draft;
    };
    BodySearch search(bodies, order, rest);
    Draft found = search.best(allowed, floor, options.control);
    return finish(repeating ? planning.duplicated(std::move(found)) : found);
  };
  Plan plan;
  if (options.tiers.empty()) {
    const std::int64_t allowed = std::max<std::int64_t>(0, *options.memory - input_bytes(graph));
    plan = best(may_repeat, allowed, options.floor);
    if (may_repeat && plan.peak() > *options.memory) {
      // What is made again because it is faster may take less memory, too: the plan without a budget may fit.
      const RegionPlans regions = bodies.in(bodies.free());
      Plan free = finish(planning.duplicated(rest(ordered(regions, 1))));
      if (free.peak() < plan.peak()) plan = std::move(free);
    }
  } else {
    const Machine& machine = options.machine ? *options.machine : reference_machine();
    const SpillOptions spilling{.memory = *options.memory,
                                .machine = &machine,
                                .tiers = tiers_of(machine, options.tiers),
                                .units = BudgetSearch::units_for(graph.nodes().size(), options.effort.factor),
                                .control = options.control};
    const auto plans = [&](bool repeating) {
      PlainPlans made{.within = [&, repeating](std::int64_t bytes,
                                               double share) { return best(repeating, bytes, false, share); },
                      .floor = {}};
      if (options.floor) made.floor = [&, repeating] { return best(repeating, 0, true); };
      return made;
    };
    const PlainPlans once = plans(false), repeating = plans(true);
    plan = plan_with_tiers(graph, target, once, may_repeat ? &repeating : nullptr, spilling);
  }
  plan = planning.verified(std::move(plan), graph, target);
  if (plan.peak() <= *options.memory) return plan;
  return Infeasible{*options.memory, std::move(plan)};
}

std::vector<PassInfo> pass_list() { return infos_of(std::span<const Row>(passes)); }

Result<Plan, Infeasible> try_plan(const Graph& graph, const Target& target, const PlanOptions& options,
                                  PipelineReport* report) {
  if (options.effort.seconds && !options.control) {
    SearchControl limit({.seconds = options.effort.seconds});
    PlanOptions limited = options;
    limited.control = &limit;
    return try_plan(graph, target, limited, report);
  }
  if (!options.control || !options.control->timed() || options.one_round) {
    Bodies bodies(graph, target, options);
    return plan_once(graph, target, options, bodies, report);
  }
  return best_in_time(options, [&](const PlanOptions& round) {
    Bodies bodies(graph, target, round);
    return plan_once(graph, target, round, bodies, report);
  });
}

Plan make_plan(const Graph& graph, const Target& target, const PlanOptions& options, PipelineReport* report) {
  Result<Plan, Infeasible> result = try_plan(graph, target, options, report);
  if (!result) throw InfeasibleBudget(graph, result.error());
  return std::move(result).value();
}

}  // namespace tidemark
