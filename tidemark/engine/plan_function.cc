#include "tidemark/engine/plan_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tidemark/autodiff/disk_loops.h"
#include "tidemark/autodiff/several_steps.h"
#include "tidemark/base/repeatable_math.h"
#include "tidemark/engine/budget_changes.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/segment_search.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/plan_figures.h"

namespace tidemark {
namespace {

std::int64_t input_bytes(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Input& input : graph.inputs()) bytes += graph.type(input.value).bytes();
  return bytes;
}

// A limit in time leaves a part of it for what would help.
PlanWithValues plan_leaving_time(const Graph& traced, const CompileOptions& given,
                                 const PlanOptions& options) {
  constexpr double most = 0.85;
  const TimeShare share(options.control, most);
  return plan_with_values(traced, given.lossy, given.program.skip_optimisations, options);
}

// Either, or why not.
struct PlannedOrNot {
  PlannedFunction function;
  std::optional<Infeasible> infeasible;
};
PlannedOrNot try_plan_traced(const Graph& traced, const CompileOptions& given, SearchControl* control) {
  CompileOptions options = given;
  options.memory = memory_beside_held(given, traced);
  auto [graph, planned, values, loops] = plan_leaving_time(traced, options, plan_options(options, control));
  if (!planned) return {{.graph = std::move(graph), .plan = {}}, planned.error()};
  Plan plan = std::move(planned).value();
  if (given.memory) plan.budget = given.memory->count;
  const std::int64_t arena = plan.arena_bytes;
  return {{std::move(graph), std::move(plan), arena, std::move(values), {}, std::move(loops)}, {}};
}

PlannedFunction plan_types(const TracedFunction& function, std::span<const Type> types, const Graph& traced,
                           const CompileOptions& given, SearchControl* control, SourceLine where) {
  PlannedOrNot planned = try_plan_traced(traced, given, control);
  if (!planned.infeasible) return std::move(planned.function);
  if (control) control->enter("changes", 0);
  CompileOptions options = given;
  options.memory = memory_beside_held(given, traced);
  const double seconds = planned.infeasible->smallest.least_seconds;
  throw InfeasibleBudget(planned.function.graph, *planned.infeasible, where,
                         changes_for({function, types, traced, options, control, seconds, where}));
}

// In as many micro-batches as make the plan fastest. Which that is, quick plans cannot say for sure: every
// number gets a plan that might still be the fastest.
PlannedFunction plan_cuts(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                          SearchControl* control, SourceLine where) {
  const auto [cuts, why_not] = judged_cuts(function, traced, options, control, where);
  std::optional<PlannedFunction> best;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const auto& [cut, seconds, least_seconds] = cuts[i];
    if (best && (least_seconds >= best->plan.seconds || (control && control->time_is_up()))) continue;
    const TimeShare share(control, 1.0 / static_cast<double>(cuts.size() - i));
    PlannedOrNot planned = try_plan_traced(cut.traced, cut.options, control);
    if (planned.infeasible || (best && planned.function.plan.seconds >= best->plan.seconds)) continue;
    best = std::move(planned.function);
    best->micro_batches = cut.micro_batches;
  }
  if (best) return *std::move(best);
  if (why_not) std::rethrow_exception(why_not);
  const CutFunction& finest = cuts.front().cut;
  return plan_types(finest.function, finest.function.types, finest.traced, finest.options, control, where);
}

// A smaller batch inside the memory of the largest: what the largest plan does also fits here.
PlannedFunction plan_inside(const Graph& traced, const CompileOptions& options, SearchControl* control,
                            const PlannedFunction& largest) {
  PlanOptions inside = plan_options(options, control);
  inside.memory = input_bytes(traced) + largest.plan.arena_bytes;
  const Graph lowered = lower_backward_values(traced, largest.values);
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  Graph graph;
  Plan plan;
  LoopMemory loops;
  if (inside.tiers.empty() && folder_wishes(lowered).empty()) {
    PreparedLoops prepared = prepare_within(lowered, skip, inside);
    graph = std::move(prepared.graph), loops = std::move(prepared.loops);
    inside.warm_start = executions_of(largest.plan);
    plan = make_safe(graph, [&](const Graph& g) { return make_plan(g, target_of(inside), inside); });
  } else {
    PlanWithLoops found = plan_with_loops(lowered, skip, inside);
    if (!found.plan) throw InfeasibleBudget(found.graph, found.plan.error());
    graph = std::move(found.graph), plan = std::move(found.plan).value(), loops = std::move(found.loops);
  }
  plan.budget = options.memory ? options.memory->count : 0;
  return {std::move(graph), std::move(plan), largest.plan.arena_bytes, largest.values, {}, std::move(loops)};
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
  if (options.accumulate.is_automatic) {
    planned = plan_cuts(function, traced, options, watch, where);
  } else if (options.accumulate.is_plain()) {
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
  Plan plan = make_safe(graph, [&](const Graph& g) { return smallest_plan(g, target_of(options), options); });
  if (!loop_memory_range(traced).any) return {std::move(graph), std::move(plan)};
  if (options.allow.has(Choice::recompute) && !options.tiers.empty()) {
    // What loops keep may wait elsewhere.
    PlanOptions once = options;
    once.allow = options.allow.without(Choice::recompute);
    Graph all = prepare_smallest(traced, skip, once);
    Plan kept = make_safe(all, [&](const Graph& g) { return smallest_plan(g, target_of(once), once); });
    if (kept.budget < plan.budget) graph = std::move(all), plan = std::move(kept);
  }
  const Graph unlowered = prepare_unlowered(traced, skip, target_of(options));
  if (SegmentSearch segments(unlowered, skip, options); !segments.empty()) {
    const std::optional<PlanWithLoops>& cut = segments.smallest();
    if (cut && cut->plan.value().budget < plan.budget) graph = cut->graph, plan = cut->plan.value();
  }
  options.memory = plan.peak();
  PlanWithLoops again = plan_with_loops(traced, skip, options);
  if (!again.plan || again.plan.value().seconds >= plan.seconds) return {std::move(graph), std::move(plan)};
  return {std::move(again.graph), std::move(again.plan).value()};
}

// The same of every way to come by forward values that may need least.
PlannedFunction smallest_function(const Graph& traced, const CompileOptions& options,
                                  const PlanOptions& search) {
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  std::optional<PlannedFunction> best;
  double least = 0;  // seconds without a budget, and with nothing undone or lossy
  std::int64_t bound = std::numeric_limits<std::int64_t>::max();
  for (const BackwardValues& values : extreme_values(traced, options.lossy, search.allow)) {
    PlannedFunction found = smallest_lowered(lower_backward_values(traced, values), skip, search);
    if (!best) least = found.plan.least_seconds;
    found.plan.least_seconds = std::min(found.plan.seconds, least);
    bound = std::min(bound, found.plan.order_free_bound);
    if (!best || found.plan.budget < best->plan.budget) best = std::move(found);
  }
  best->plan.order_free_bound = bound;
  return *std::move(best);
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

// With loops, couplings, smaller forms or several graphs, what is planned depends on the budget: a plan for
// each, at equal ratios from the smallest to the largest.
std::vector<FrontierPoint> frontier_by_plans(std::span<const Graph> traced, const std::optional<Lossy>& lossy,
                                             const std::vector<std::string>& skip, PlanOptions options,
                                             int points) {
  options.memory.reset();
  const Target& target = target_of(options);
  const auto part = [&](const auto& plan) {  // of the time, if that is limited
    const TimeShare time(options.control, 2.0 / (points + 2));
    return plan();
  };
  const auto smallest = [&](const Graph& graph) {
    return part([&] {
      if (!options.tiers.empty()) return smallest_lowered(graph, skip, options).plan.budget;
      return smallest_plan(prepare_smallest(graph, skip, options), target, options).peak();
    });
  };
  const Graph plain = lower_backward_values(traced[0], extreme_values(traced[0], {}).front());
  const Graph prepared = prepare_graph(plain, skip, nullptr, {}, target);
  const Plan top = part([&] { return make_plan(prepared, target, options); });
  std::int64_t floor = top.peak(), most = top.peak();
  double least_seconds = top.least_seconds;
  if (has_steps_to_join(prepared, target)) {  // which takes more memory than that, and less time
    const PlanWithLoops free = part([&] { return plan_with_loops(plain, skip, options); });
    most = std::max(most, free.plan.value().peak());
    least_seconds = std::min(least_seconds, free.plan.value().seconds);
  }
  for (const Graph& graph : traced) {
    for (const BackwardValues& values : extreme_values(graph, lossy, options.allow))
      floor = std::min(floor, smallest(lower_backward_values(graph, values)));
  }
  const double ratio = static_cast<double>(most) / static_cast<double>(std::max<std::int64_t>(1, floor));
  std::vector<FrontierPoint> list;
  for (int k = 0; k < points; ++k) {
    const double share = points > 1 ? static_cast<double>(k) / (points - 1) : 1;
    options.memory = std::max(
        floor, static_cast<std::int64_t>(static_cast<double>(floor) * repeatable::pow(ratio, share)));
    if (k == points - 1) options.memory = most;
    const TimeShare time(options.control, 1.0 / (points - k));
    // What fits less memory fits this.
    std::optional<FrontierPoint> best;
    if (!list.empty()) best = list.back();
    for (const Graph& graph : traced) {
      const PlanWithValues planned = plan_with_values(graph, lossy, skip, options);
      if (!planned.plan || (best && planned.plan.value().seconds >= best->seconds)) continue;
      const Plan& plan = planned.plan.value();
      best = {.budget = {},
              .memory = Bytes(plan.peak()),
              .seconds = plan.seconds,
              .extra_time = plan.seconds / least_seconds - 1,
              .seconds_bound = std::min(plan.seconds, least_seconds),
              .recomputed = repeats_of(plan)};
    }
    if (!best) continue;
    best->budget = Bytes(*options.memory);
    list.push_back(*best);
  }
  return list;
}

}  // namespace

std::vector<FrontierPoint> frontier_points(std::span<const Graph> traced, const std::optional<Lossy>& lossy,
                                           const std::vector<std::string>& skip, const PlanOptions& options,
                                           int points) {
  const bool has_choices = extreme_values(traced[0], lossy, options.allow).size() > 1;
  if (traced.size() > 1 || has_choices || loop_memory_range(traced[0]).any)
    return frontier_by_plans(traced, lossy, skip, options, points);
  const Graph plain = lower_backward_values(traced[0], extreme_values(traced[0], {}).front());
  std::vector<FrontierPoint> list;
  const Target& target = target_of(options);
  const Graph prepared = prepare_graph(plain, skip, nullptr, {}, target);
  if (has_steps_to_join(prepared, target)) return frontier_by_plans(traced, lossy, skip, options, points);
  for (const Plan& point : frontier(prepared, target, options, points)) {
    list.push_back({.budget = Bytes(point.budget),
                    .memory = Bytes(point.peak()),
                    .seconds = point.seconds,
                    .extra_time = point.extra_time(),
                    .seconds_bound = point.seconds_bound,
                    .recomputed = repeats_of(point)});
  }
  return list;
}

std::vector<FrontierPoint> frontier_points(const Graph& traced, const CompileOptions& options, int points) {
  std::optional<SearchControl> control = control_for(options);
  const PlanOptions plan = plan_options(options, control ? &*control : nullptr);
  std::vector<FrontierPoint> list =
      frontier_points(std::span(&traced, 1), options.lossy, options.program.skip_optimisations, plan, points);
  if (control) control->finish();
  return list;
}

std::optional<Footprint> footprint_of(const TracedFunction& function, const CompileOptions& options,
                                      const Program& program, SourceLine where) {
  const std::optional<BatchAxis> axis = find_batch(function, options.batch_arguments, where);
  if (!axis) return {};
  const Target& target = program.target();
  std::vector<BatchPeak> peaks;
  for (std::int64_t batch : {axis->size / 2, axis->size, 2 * axis->size}) {
    if (batch == 0) continue;
    try {
      const Graph traced = function.trace(axis->resized(function.types, batch));
      const Graph resized = prepare_graph(lower_backward_values(traced, program.backward_values()),
                                          options.program.skip_optimisations, nullptr, {}, target);
      const std::optional<std::int64_t> peak =
          peak_with_sizes(program.graph(), program.plan(), resized, target);
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
