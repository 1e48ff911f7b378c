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
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

struct Pass {
  PassInfo info;
  Draft (*run)(Draft);
};

constexpr bool optional = true, required = false;

const Pass passes[] = {
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
    {{"fuse", optional,
      "after remat: what runs again joins its readers like anything else; before in_place, which goes by "
      "groups"},
     fuse},
    {{"in_place", optional, "after order: who is the last reader is known only now"}, in_place},
    {{"liveness", required, "after everything that decides who shares memory with whom"}, liveness},
    {{"layout", required, "last: addresses follow from lifetimes"}, layout},
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_names(const std::vector<std::string>& skip) {
  for (const std::string& name : skip) {
    const auto pass = std::ranges::find(passes, name, [](const Pass& p) { return p.info.name; });
    if (pass != std::end(passes) && pass->info.optional) continue;
    std::string names;
    for (const Pass& p : passes) {
      if (p.info.optional) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.info.name);
    }
    fail(ErrorCode::bad_plan_option,
         {.what = pass == std::end(passes) ? fmt::format("there is no pass `{}`", name)
                                           : fmt::format("the pass `{}` cannot be skipped", name),
          .expected = names});
  }
}

// The required passes that are still missing, and the figures.
Plan finish_now(Draft draft) { return finish(layout(liveness(std::move(draft)))); }

// Runs passes, leaving out what the options say, and keeps the report.
class Driver {
 public:
  Driver(const PlanOptions& options, PipelineReport* report) : options_(options), report_(report) {
    check_names(options.skip);
    if (!report) return;
    for (const Pass& pass : passes)
      report->passes.push_back({.name = pass.info.name, .skipped = skipped(pass)});
  }

  // The passes from the one named `first` up to the one named `last`, which is not run.
  Draft run(Draft draft, std::string_view first, std::string_view last) {
    for (std::size_t p = index_of(first); p < index_of(last); ++p) draft = run(std::move(draft), p);
    return draft;
  }

  SolverLog* solver_log() { return report_ ? &report_->solvers : nullptr; }

  Plan finish_verified(const Draft& draft) {
    const auto start = std::chrono::steady_clock::now();
    Plan plan = finish(draft);
    plan.budget = options_.memory.value_or(0);
    if (plan.peak() > plan.budget) plan.budget = 0;  // the smallest there is, not one that was asked for
    verify_or_throw(*draft.graph, plan, *draft.target);
    if (report_) {
      report_->passes.push_back({.name = "verify", .seconds = seconds_since(start), .peak = plan.peak()});
    }
    return plan;
  }

 private:
  static std::size_t index_of(std::string_view name) {
    const auto pass = std::ranges::find(passes, name, [](const Pass& p) { return p.info.name; });
    return static_cast<std::size_t>(pass - std::begin(passes));
  }
  bool skipped(const Pass& pass) const {
    return std::ranges::count(options_.skip, pass.info.name) > 0 ||
           (options_.fixed_order && pass.info.name == "order");
  }

  Draft run(Draft draft, std::size_t p) {
    const Pass& pass = passes[p];
    if (skipped(pass)) return draft;
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t before = draft.work_units;
    draft = pass.run(std::move(draft));
    const double seconds = seconds_since(start);
    if (options_.after) options_.after(pass.info.name, draft);
    const std::int64_t peak = options_.check_every_pass ? checked_peak(draft, pass.info.name) : 0;
    if (!report_) return draft;
    PassReport& entry = report_->passes[p];
    entry.seconds += seconds;
    entry.work_units += draft.work_units - before;
    entry.peak = peak;
    return draft;
  }

  static std::int64_t checked_peak(const Draft& draft, std::string_view pass) {
    const Plan so_far = finish_now(draft);
    const std::vector<std::string> found = problems(*draft.graph, so_far, *draft.target);
    if (!found.empty()) {
      throw InternalError(fmt::format("a plan fails verification after the pass `{}`:\n  {}", pass,
                                      fmt::join(found, "\n  ")));
    }
    return so_far.peak();
  }

  const PlanOptions& options_;
  PipelineReport* report_;
};

constexpr std::string_view the_end = "";

std::int64_t input_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Input& input : graph.inputs()) bytes += graph.type(input.value).bytes();
  return bytes;
}

Draft ordered_draft(const Graph& graph, const Target& target, const PlanOptions& options,
                    const RegionPlans& regions, Driver& driver) {
  Draft draft(graph, target);
  draft.effort = options.effort;
  draft.solvers = options.solvers;
  draft.solver_log = driver.solver_log();
  draft.control = options.control;
  draft.order_is_given = options.fixed_order;
  draft.warm_start = options.warm_start;
  draft.binds_outputs = options.binds_outputs;
  draft.groups = std::ranges::count(options.skip, "fuse") == 0;
  if (!regions.bodies.empty()) draft.regions = &regions;
  if (options.machine) draft.machine = options.machine;
  return driver.run(std::move(draft), "views", "remat");
}

}  // namespace

Result<Plan, Infeasible> plan_once(const Graph& graph, const Target& target, const PlanOptions& options,
                                   Bodies& bodies, PipelineReport* report) {
  Driver driver(options, report);
  if (options.control) options.control->enter("order", 0);
  const auto rest = [&](Draft aimed) { return driver.run(std::move(aimed), "remat", the_end); };
  if (!options.memory) {
    const RegionPlans regions = bodies.in(bodies.free());
    return driver.finish_verified(rest(ordered_draft(graph, target, options, regions, driver)));
  }
  const auto ordered = [&](const RegionPlans& regions, double share) {
    PlanOptions part = options;
    part.effort *= share;
    return ordered_draft(graph, target, part, regions, driver);
  };
  BodySearch search(bodies, ordered, rest);
  const std::int64_t allowed = std::max<std::int64_t>(0, *options.memory - input_bytes(graph));
  Plan plan = driver.finish_verified(search.best(allowed, options.floor, options.control));
  if (plan.peak() <= *options.memory) return plan;
  return Infeasible{*options.memory, std::move(plan)};
}

std::vector<PassInfo> pass_list() {
  std::vector<PassInfo> list;
  for (const Pass& pass : passes) list.push_back(pass.info);
  return list;
}

Result<Plan, Infeasible> try_plan(const Graph& graph, const Target& target, const PlanOptions& options,
                                  PipelineReport* report) {
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
