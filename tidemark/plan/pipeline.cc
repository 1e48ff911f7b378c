// How a plan comes about, top to bottom. Before the first pass the draft is a valid, wasteful plan: the given order,
// every value in memory of its own. Each pass keeps it valid and makes it smaller, so any optional one can be left out.
#include "tidemark/plan/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"
#include "tidemark/plan/infeasible.h"
#include "tidemark/plan/passes.h"
#include "tidemark/plan/regions.h"
#include "tidemark/plan/verify.h"

namespace tidemark {
namespace {

struct Pass {
  PassInfo info;
  Draft (*run)(Draft);
};

constexpr bool optional = true, required = false;

const Pass passes[] = {
    {{"views", optional, "first: it settles which nodes run at all and whose memory a read keeps alive"},
     views},
    {{"donate", optional,
      "before order: a home in a donated input asks that its readers run first, which the order must "
      "respect"},
     donate},
    {{"order", optional,
      "before in_place: its evaluator counts the take-overs that each order allows, so none need be fixed "
      "yet"},
     order},
    {{"hints", optional,
      "after order: waits, and so what is worth recomputing, are known only for an order; before in_place, "
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

  Plan finish_verified(const Draft& draft) {
    const auto start = std::chrono::steady_clock::now();
    Plan plan = finish(draft);
    plan.budget = options_.memory.value_or(0);
    if (plan.peak() > plan.budget) plan.budget = 0;  // the smallest there is, not one that was asked for
    verify_or_throw(*draft.graph, plan);
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
    const std::vector<std::string> found = problems(*draft.graph, so_far);
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

// A finished draft whose load is aimed at the target. With one for a target nearby, most of the work is done: it goes on
// from there with a quarter of the effort. Groups lift the load nowhere above the limit, which is the target where none
// is given.
using Aim = std::function<Draft(std::int64_t target, const Draft* nearby, std::optional<std::int64_t> limit)>;

// What remat counts is the load; what must fit is the height of the arena. Where packing needs more, aims lower. The
// arena of the result is above `allowed` where that leads to nothing.
Draft within(std::int64_t allowed, const Aim& aim) {
  constexpr int most_attempts = 6;
  std::int64_t target = allowed;
  Draft done = aim(target, nullptr, {});
  const double seconds_bound = done.seconds_bound;
  for (int attempt = 1; attempt < most_attempts && done.fits && done.arena_bytes > allowed; ++attempt) {
    // Packing gets worse as more runs again: each time further down than by what was missing.
    target = std::max<std::int64_t>(0, target - attempt * (done.arena_bytes - allowed));
    Draft lower = aim(target, &done, {});
    // What remat gives when it fails with little effort is no floor to report: stay with what fitted.
    if (!lower.fits && lower.arena_bytes > allowed) break;
    done = std::move(lower);
  }
  done.seconds_bound = seconds_bound;  // of the budget that was asked for, not of a lower aim
  return done;
}

// The lowest arena that is found, whatever the budget was: so long as less turns out to be enough, less is tried. What
// is reported as the smallest budget can then be planned for, and anything below it cannot. `least`: remat found
// nothing within the budget it had, so that these are the executions of lowest load.
Draft smallest(Draft least, const Aim& aim, int tasks) {
  const std::int64_t bound = least.load_bound;
  if (Draft plain = aim(-1, nullptr, {}); plain.arena_bytes < least.arena_bytes) least = std::move(plain);
  std::int64_t step = 1;
  for (int tries = std::clamp(1'000 / std::max(1, tasks), 1, 12); tries > 0; --tries) {
    if (least.arena_bytes <= bound) break;
    const std::int64_t target = std::max(bound, least.arena_bytes - step);
    if (Draft lower = within(target, aim); lower.arena_bytes <= target) {
      least = std::move(lower);
      step = 2 * std::max(step, buffer_alignment);
    } else if (step > 1) {
      step = 1;
    } else {
      break;
    }
  }
  return least;
}

bool has_groups(const Draft& draft) {
  return std::ranges::any_of(draft.executions, [](const Execution& run) { return run.group >= 0; });
}

// Remat counts every value that a run makes; in groups many have no memory. Where that leaves room, aims higher, and keeps
// what is faster and fits. `runs`: of a plan that computes nothing again, which has nothing to gain.
Draft with_room_used(Draft done, std::int64_t allowed, const Aim& aim, std::size_t runs) {
  constexpr int most_attempts = 4;
  std::int64_t target = allowed, room = allowed - done.arena_bytes;
  const double seconds_bound = done.seconds_bound;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (room < allowed / 100 || !has_groups(done) || done.executions.size() <= runs) break;
    Draft higher = aim(target + room, &done, allowed);
    if (higher.arena_bytes > allowed) {
      room /= 2;
      continue;
    }
    if (finish(higher).seconds >= finish(done).seconds) break;
    target += room;
    done = std::move(higher);
    room = allowed - done.arena_bytes;
  }
  done.seconds_bound = seconds_bound;
  return done;
}

}  // namespace

std::vector<PassInfo> pass_list() {
  std::vector<PassInfo> list;
  for (const Pass& pass : passes) list.push_back(pass.info);
  return list;
}

Result<Plan, Infeasible> try_plan(const Graph& graph, const PlanOptions& options, PipelineReport* report) {
  Driver driver(options, report);
  Draft draft(graph);
  draft.effort = options.effort;
  draft.order_is_given = options.fixed_order;
  draft.warm_start = options.warm_start;
  draft.binds_outputs = options.binds_outputs;
  draft.groups = std::ranges::count(options.skip, "fuse") == 0;
  const RegionPlans regions = plan_regions(graph, options);
  if (!regions.bodies.empty()) draft.regions = &regions;
  if (options.machine) draft.machine = options.machine;
  draft = driver.run(std::move(draft), "views", "remat");
  if (!options.memory) return driver.finish_verified(driver.run(std::move(draft), "remat", the_end));

  const Aim aim = [&](std::int64_t target, const Draft* nearby, std::optional<std::int64_t> limit) {
    Draft aimed = draft;
    aimed.arena_budget = target;
    aimed.group_limit = limit.value_or(target);
    if (nearby) {
      aimed.remat_effort /= 4;
      aimed.warm_start.clear();
      for (const Execution& run : nearby->executions) aimed.warm_start.push_back(run.node);
    }
    return driver.run(std::move(aimed), "remat", the_end);
  };
  const std::int64_t allowed = std::max<std::int64_t>(0, *options.memory - input_bytes(graph));
  Draft done = with_room_used(within(allowed, aim), allowed, aim, draft.executions.size());
  if (done.arena_bytes > allowed) {
    const double seconds_bound = done.seconds_bound;
    // With groups what does not fit is no measure of what is possible: the floor must not depend on what was asked for.
    if (done.fits || has_groups(done)) done = aim(0, nullptr, {});
    done = smallest(std::move(done), aim, static_cast<int>(draft.executions.size()));
    if (done.arena_bytes <= allowed) {
      // It packs well but was made at any cost: the same height for less time will do as well.
      Draft cheaper = within(done.arena_bytes, aim);
      if (cheaper.arena_bytes <= allowed && finish(cheaper).seconds < finish(done).seconds)
        done = std::move(cheaper);
      done.seconds_bound = seconds_bound;
    }
  }
  Plan plan = driver.finish_verified(done);
  if (plan.peak() <= *options.memory) return plan;
  return Infeasible{*options.memory, std::move(plan)};
}

Plan make_plan(const Graph& graph, const PlanOptions& options, PipelineReport* report) {
  Result<Plan, Infeasible> result = try_plan(graph, options, report);
  if (!result) throw InfeasibleBudget(graph, result.error());
  return std::move(result).value();
}

}  // namespace tidemark
