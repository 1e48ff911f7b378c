#include "tidemark/engine/plan_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/engine/form_search.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/passes/proposals.h"
#include "tidemark/plan/report/frontier.h"

namespace tidemark {
namespace {

std::int64_t input_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Input& input : graph.inputs()) bytes += graph.type(input.value).bytes();
  return bytes;
}

// Would donating the argument help at all: does a result have the type of one of its tensors?
bool could_be_donated(const TracedFunction& function, const Graph& traced, std::size_t argument) {
  if (function.donated[argument]) return false;
  const auto begin = function.types.begin();
  return std::any_of(
      begin + static_cast<std::ptrdiff_t>(function.argument_begin(argument)),
      begin + static_cast<std::ptrdiff_t>(function.argument_ends[argument]), [&](const Type& type) {
        return std::ranges::any_of(traced.outputs(), [&](ValueId v) { return traced.type(v) == type; });
      });
}

// What might help, most welcome first. Loops keep as little as they can in all of them. `traced`: for
// `types`, before optimisation.
std::vector<Proposal> proposals_for(const TracedFunction& function, std::span<const Type> types,
                                    const Graph& traced, const CompileOptions& options,
                                    SearchControl* control, SourceLine where) {
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  PlanOptions quick = plan_options(options, control);  // that it fits is asked, not how fast it is
  quick.one_round = true;
  quick.effort = quick.effort.at_most(Effort::quick);
  quick.floor = false;
  std::vector<Proposal> list;
  TracedFunction here = function;
  here.types.assign(types.begin(), types.end());
  // With the smallest forms that are allowed: they are the same of any batch.
  const auto prepared = [forms = all_forms(traced, options.lossy), skip](const Graph& graph) {
    return prepare_graph(lower_residuals(graph, forms), skip, nullptr, 0);
  };
  if (const std::optional<BatchAxis> axis = find_batch(here, options.batch_arguments, where)) {
    list.push_back(
        {.what = "batch",
         .graph = [here, axis = *axis, prepared](
                      std::int64_t batch) { return prepared(here.trace(axis.resized(here.types, batch))); },
         .options = quick,
         .from = axis->size,
         .unit = std::max<std::int64_t>(1, options.accumulate.count)});
  }
  constexpr int most_donations = 3;
  int donations = 0;
  for (std::size_t a = 0; a < function.argument_ends.size() && donations < most_donations; ++a) {
    if (!could_be_donated(here, traced, a)) continue;
    ++donations;
    list.push_back({.what = fmt::format("donating argument {}", a),
                    .graph =
                        [here, traced, a, prepared](std::int64_t) {
                          Graph given = traced;
                          for (std::size_t i = here.argument_begin(a); i < here.argument_ends[a]; ++i)
                            given.inputs()[i].donated = true;
                          return prepared(given);
                        },
                    .options = quick});
  }
  const auto same_graph = [traced, prepared](std::int64_t) { return prepared(traced); };
  if (!options.lossy) {
    constexpr double error = 4e-3;  // enough for 8 bits
    list.push_back(
        {.what = fmt::format("allowing lossy copies for the backward pass, {{.error = {}}},", error),
         .graph =
             [here, skip](std::int64_t) {
               const LossyReads allowed(true);
               const Graph marked = here.trace(here.types);
               const ResidualChoice forms = all_forms(marked, Lossy{error});
               return prepare_graph(lower_residuals(marked, forms), skip, nullptr, 0);
             },
         .options = quick});
  }
  if (quick.fixed_order) {
    PlanOptions free = quick;
    free.fixed_order = false;
    list.push_back({.what = "leaving the order free", .graph = same_graph, .options = free});
  }
  if (!traced.hints().empty() || !traced.checkpoints().empty()) {
    PlanOptions unhinted = quick;
    unhinted.skip.emplace_back("hints");
    list.push_back({.what = "planning without the hints", .graph = same_graph, .options = unhinted});
  }
  if (!options.effort.seconds && plan_options(options).effort.factor < Effort::normal.factor) {
    PlanOptions normal = quick;
    normal.effort = Effort::normal;
    normal.floor = true;
    list.push_back({.what = "normal effort", .graph = same_graph, .options = normal});
  }
  return list;
}

// A limit in time leaves a part of it for what would help.
PlanWithForms plan_leaving_time(const Graph& traced, const CompileOptions& given,
                                const PlanOptions& options) {
  constexpr double most = 0.85;
  const TimeShare share(options.control, most);
  return plan_with_forms(traced, given.lossy, given.program.skip_optimisations, options);
}

PlannedFunction plan_types(const TracedFunction& function, std::span<const Type> types, const Graph& traced,
                           const CompileOptions& given, SearchControl* control, SourceLine where) {
  CompileOptions options = given;
  options.memory = memory_beside_held(given, traced);
  const PlanOptions plan = plan_options(options, control);
  auto [graph, planned, forms] = plan_leaving_time(traced, options, plan);
  if (!planned) {
    if (control) control->enter("changes", 0);
    throw InfeasibleBudget(
        graph, planned.error(), where,
        changes_that_fit(proposals_for(function, types, traced, options, control, where), cpu_target()));
  }
  if (given.memory) planned.value().budget = given.memory->count;
  const std::int64_t arena = planned.value().arena_bytes;
  return {std::move(graph), std::move(planned).value(), arena, std::move(forms), {}};
}

// A smaller batch inside the memory of the largest: what the largest plan does also fits here.
PlannedFunction plan_inside(const Graph& traced, const CompileOptions& options, SearchControl* control,
                            const PlannedFunction& largest) {
  PlanOptions inside = plan_options(options, control);
  inside.memory = input_bytes(traced) + largest.plan.arena_bytes;
  Graph graph =
      prepare_within(lower_residuals(traced, largest.forms), options.program.skip_optimisations, inside);
  inside.warm_start = executions_of(largest.plan);
  Plan plan = make_safe(graph, [&](const Graph& g) { return make_plan(g, cpu_target(), inside); });
  plan.budget = options.memory ? options.memory->count : 0;
  return {std::move(graph), std::move(plan), largest.plan.arena_bytes, largest.forms, {}};
}

}  // namespace

const PlannedFunction* LargestPlans::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(plans_, key, [](const auto& entry) { return entry.first; });
  if (found == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, found);
  return &plans_.front().second;
}

const PlannedFunction& LargestPlans::insert(const std::string& key, PlannedFunction planned) {
  const std::lock_guard lock(mutex_);
  plans_.emplace_front(key, std::move(planned));
  if (plans_.size() > most) plans_.pop_back();
  return plans_.front().second;
}

void LargestPlans::clear() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
}

LargestPlans::Held LargestPlans::held() const {
  const std::lock_guard lock(mutex_);
  Held held{.plans = plans_.size(), .bytes = {}};
  for (const auto& [key, planned] : plans_) {
    held.bytes.graph += held_bytes(planned.graph);
    held.bytes.plan += held_bytes(planned.plan);
  }
  return held;
}

namespace {

PlannedFunction plan_controlled(const TracedFunction& function, const Graph& traced,
                                const CompileOptions& options, LargestPlans& largest, SearchControl* control,
                                SourceLine where) {
  if (!options.max_batch) return plan_types(function, function.types, traced, options, control, where);
  const std::optional<BatchAxis> axis = find_batch(function, options.batch_arguments, where);
  if (!axis)
    fail(ErrorCode::bad_plan_option,
         {.what = "max_batch was given, and no argument holds a batch",
          .expected = "an argument, not donated, whose tensors share their first axis",
          .where = where,
          .help = "name the arguments: batch_arguments = {…}"});
  if (axis->size > *options.max_batch)
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("a batch of {} is larger than the largest, {}", axis->size, *options.max_batch),
          .where = where,
          .help = "give a larger max_batch to compile"});
  const std::vector<Type> types = axis->resized(function.types, *options.max_batch);
  std::string key = function.fixed;
  for (const Type& type : types) key += to_string(type) + ";";
  const PlannedFunction* found = largest.find(key);
  if (!found)
    found = &largest.insert(key, plan_types(function, types, function.trace(types), options, control, where));
  if (axis->size == *options.max_batch) return *found;
  return plan_inside(traced, options, control, *found);
}

}  // namespace

PlannedFunction plan_function(const TracedFunction& function, const Graph& traced,
                              const CompileOptions& options, LargestPlans& largest, SourceLine where) {
  std::optional<SearchControl> control = control_for(options);
  SearchControl* const watch = control ? &*control : nullptr;
  PlannedFunction planned;
  if (options.accumulate.is_plain()) {
    planned = plan_controlled(function, traced, options, largest, watch, where);
  } else {
    const CutFunction cut = cut_to_plan(function, traced, options, watch, where);
    planned = plan_controlled(cut.function, cut.traced, cut.options, largest, watch, where);
    planned.micro_batches = cut.micro_batches;
  }
  if (control) control->finish();
  return planned;
}

namespace {

// The smallest plan, its loops in the modes that lead there. The lowest is looked for whatever it costs;
// within it, time counts again.
PlannedFunction smallest_lowered(const Graph& traced, const std::vector<std::string>& skip,
                                 PlanOptions options) {
  options.memory.reset();
  Graph graph = prepare_smallest(traced, skip, options);
  Plan plan = make_safe(graph, [&](const Graph& g) { return smallest_plan(g, cpu_target(), options); });
  if (!loop_memory_range(traced).any) return {std::move(graph), std::move(plan)};
  options.memory = plan.peak();
  auto [other, again] = plan_with_loops(traced, skip, options);
  if (!again || again.value().seconds >= plan.seconds) return {std::move(graph), std::move(plan)};
  return {std::move(other), std::move(again).value()};
}

// The same with the forms that were asked for, or with all that are allowed.
PlannedFunction smallest_function(const Graph& traced, const CompileOptions& options,
                                  const PlanOptions& search) {
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  const ResidualChoice asked = asked_for(residuals_of(traced)), all = all_forms(traced, options.lossy);
  PlannedFunction exact = smallest_lowered(lower_residuals(traced, asked), skip, search);
  if (all == asked) return exact;
  PlannedFunction lossy = smallest_lowered(lower_residuals(traced, all), skip, search);
  lossy.plan.least_seconds = std::min(lossy.plan.seconds, exact.plan.least_seconds);
  return lossy.plan.budget < exact.plan.budget ? std::move(lossy) : std::move(exact);
}

}  // namespace

SmallestBudget smallest_budget(const Graph& traced, const CompileOptions& options) {
  std::optional<SearchControl> control = control_for(options);
  const PlanOptions search = plan_options(options, control ? &*control : nullptr);
  const PlannedFunction found = smallest_function(traced, options, search);
  const Plan& plan = found.plan;
  if (control) control->finish();
  SmallestBudget smallest;
  // What was asked for, not what it then took: a plan that came out lower need not be found again when only
  // so much is allowed.
  smallest.memory = Bytes(plan.budget);
  smallest.bound = Bytes(plan.order_free_bound);
  smallest.seconds = plan.seconds;
  smallest.extra_time = plan.extra_time();
  if (!plan.steps.empty()) smallest.pinned_by = to_text(found.graph, parts_at_peak(plan));
  return smallest;
}

namespace {

// With loops or lossy forms the graph itself depends on the budget: a plan for each, at equal ratios from the
// smallest to the largest.
std::vector<FrontierPoint> frontier_by_plans(const Graph& traced, const CompileOptions& given,
                                             PlanOptions options, int points) {
  const std::vector<std::string>& skip = given.program.skip_optimisations;
  const Graph plain = lower_residuals(traced, asked_for(residuals_of(traced)));
  options.memory.reset();
  const auto part = [&](const auto& plan) {  // of the time, if that is limited
    const TimeShare time(options.control, 2.0 / (points + 2));
    return plan();
  };
  const auto smallest = [&](const Graph& graph) {
    return part([&] { return smallest_plan(prepare_smallest(graph, skip, options), cpu_target(), options); });
  };
  const Plan top = part([&] { return make_plan(prepare_graph(plain, skip), cpu_target(), options); });
  Plan floor = smallest(plain);
  if (given.lossy) {
    Plan lossy = smallest(lower_residuals(traced, all_forms(traced, given.lossy)));
    if (lossy.peak() < floor.peak()) floor = std::move(lossy);
  }
  const double ratio =
      static_cast<double>(top.peak()) / static_cast<double>(std::max<std::int64_t>(1, floor.peak()));
  std::vector<FrontierPoint> list;
  for (int k = 0; k < points; ++k) {
    const double share = points > 1 ? static_cast<double>(k) / (points - 1) : 1;
    options.memory = std::max(floor.peak(), static_cast<std::int64_t>(static_cast<double>(floor.peak()) *
                                                                      repeatable::pow(ratio, share)));
    if (k == points - 1) options.memory = std::max(floor.peak(), top.peak());
    const TimeShare time(options.control, 1.0 / (points - k));
    const PlanWithForms planned = plan_with_forms(traced, given.lossy, skip, options);
    if (!planned.plan) continue;
    const Plan& plan = planned.plan.value();
    list.push_back({.budget = Bytes(*options.memory),
                    .memory = Bytes(plan.peak()),
                    .seconds = plan.seconds,
                    .extra_time = plan.seconds / top.least_seconds - 1,
                    .seconds_bound = std::min(plan.seconds, top.least_seconds)});
  }
  return list;
}

}  // namespace

std::vector<FrontierPoint> frontier_points(const Graph& traced, const CompileOptions& options, int points) {
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  std::optional<SearchControl> control = control_for(options);
  const PlanOptions plan = plan_options(options, control ? &*control : nullptr);
  std::vector<FrontierPoint> list;
  if (loop_memory_range(traced).any || options.lossy) {
    list = frontier_by_plans(traced, options, plan, points);
  } else {
    const Graph plain = lower_residuals(traced, asked_for(residuals_of(traced)));
    for (const Plan& point : frontier(prepare_graph(plain, skip), cpu_target(), plan, points)) {
      list.push_back({.budget = Bytes(point.budget),
                      .memory = Bytes(point.peak()),
                      .seconds = point.seconds,
                      .extra_time = point.extra_time(),
                      .seconds_bound = point.seconds_bound});
    }
  }
  if (control) control->finish();
  return list;
}

std::optional<Footprint> footprint_of(const TracedFunction& function, const CompileOptions& options,
                                      const Program& program, SourceLine where) {
  const std::optional<BatchAxis> axis = find_batch(function, options.batch_arguments, where);
  if (!axis) return {};
  std::vector<BatchPeak> peaks;
  for (std::int64_t batch : {axis->size / 2, axis->size, 2 * axis->size}) {
    if (batch == 0) continue;
    try {
      const Graph traced = function.trace(axis->resized(function.types, batch));
      const Graph resized =
          prepare_graph(lower_residuals(traced, program.forms()), options.program.skip_optimisations);
      const std::optional<std::int64_t> peak =
          peak_with_sizes(program.graph(), program.plan(), resized, cpu_target());
      if (!peak) return {};
      peaks.push_back({batch, *peak});
    } catch (const Error&) {
      return {};
    }
  }
  return fit_footprint(peaks);
}

std::string budget_lines(const SmallestBudget& smallest, const std::optional<Footprint>& footprint) {
  std::string text = fmt::format("{:<18}{} ({} bytes), {:+.2f}% time; pinned by {}\n", "smallest budget",
                                 to_string(smallest.memory), smallest.memory.count, 100 * smallest.extra_time,
                                 smallest.pinned_by);
  text += fmt::format("{:<18}{}\n", "by batch",
                      footprint ? to_text(*footprint) : "no formula: the graph itself depends on the batch");
  return text;
}

}  // namespace tidemark
