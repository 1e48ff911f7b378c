#include "tidemark/engine/explain_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <tuple>

#include "tidemark/engine/explain_alternatives.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/passes/regions.h"
#include "tidemark/plan/report/explain_values.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/plan_hash.h"

namespace tidemark {
namespace {

constexpr std::int64_t largest_step = std::int64_t{1} << 20;  // a MiB
constexpr std::int64_t price_part = 16;                       // of the budget, that a price is of at most

// Does something else than what is become of values like this one?
bool has_choice(const ExplainedValue& value) {
  switch (value.decision) {
    case Decision::argument:
    case Decision::result:
    case Decision::brief:
    case Decision::fused:
      return false;
    default:
      return true;
  }
}

std::string searched_text(const ExplainedValue& value) {
  std::string text = fmt::format("%{} {} {} {} {} {}", value.value, value.name, value.type,
                                 name_of(value.decision), name_of(value.role), label_of(value.role));
  if (value.producer) text += fmt::format(" {} {}", value.producer->op, value.producer->where);
  return text;
}

std::regex expression(const std::string& match, SourceLine where) {
  try {
    return std::regex(match, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error&) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("'{}' is no regular expression", match.substr(0, 80)),
          .expected = "one such as 'attention', 'layers.cc:1[0-9]+' or 'gelu|tanh'",
          .where = where,
          .help = "put a \\ before brackets and signs that stand for themselves"});
  }
}

std::vector<ExplainedValue> matching(std::vector<ExplainedValue> values, const std::string& match,
                                     SourceLine where) {
  if (match.empty()) return values;
  const std::regex wanted = expression(match, where);
  std::erase_if(
      values, [&](const ExplainedValue& value) { return !std::regex_search(searched_text(value), wanted); });
  return values;
}

// The largest of those that wait, then of the others; in the order of regions.
std::vector<ExplainedValue> largest(std::vector<ExplainedValue> values, std::size_t top) {
  // What is computed again only on the way to others comes behind what waits.
  std::ranges::stable_sort(values, {}, [](const ExplainedValue& value) {
    const bool on_the_way = value.decision == Decision::recomputed && !value.crosses;
    return std::tuple(!has_choice(value), on_the_way, -value.bytes, value.region);
  });
  if (top > 0 && values.size() > top) values.resize(top);
  std::ranges::stable_sort(values, {}, &ExplainedValue::region);
  return values;
}

// One MiB, or less where the budget is not much larger.
std::int64_t price_step(std::int64_t budget) {
  std::int64_t step = largest_step;
  while (step > 1 && step * price_part > budget) step /= 2;
  return step;
}

// A plan for so much more or less, from the one at hand. None: nothing was found within it.
std::optional<Plan> plan_nearby(const Graph& graph, const Plan& plan, const PlanOptions& options,
                                std::int64_t change) {
  PlanOptions nearby = options;
  nearby.memory = *options.memory + change;
  if (*nearby.memory <= 0) return {};
  nearby.warm_start = executions_of(plan);
  nearby.floor = false;
  Result<Plan, Infeasible> found = try_plan(graph, target_of(options), nearby);
  // What fits less fits more.
  if (plan.peak() <= *nearby.memory && (!found || found.value().seconds >= plan.seconds)) return plan;
  if (!found) return {};
  return std::move(found).value();
}

void add_price(Explanation& explanation, const Graph& graph, const Plan& plan, const PlanOptions& options,
               std::int64_t change) {
  const std::optional<Plan> other = plan_nearby(graph, plan, options, change);
  BudgetPrice price{.change = change, .fits = other.has_value()};
  if (other) {
    price.seconds_change = other->seconds - plan.seconds;
    const Machine& machine = options.machine ? *options.machine : reference_machine();
    const std::vector<DecidedValue> decided =
        decisions_of(planned_regions(graph, *other), target_of(options), machine, options.skip);
    for (ExplainedValue& value : explanation.values) {
      const auto found = std::ranges::find_if(decided, [&](const DecidedValue& d) {
        return d.value == value.value &&
               d.path == explanation.regions[static_cast<std::size_t>(value.region)].path;
      });
      if (found == decided.end()) continue;
      (change < 0 ? value.with_less : value.with_more) = found->decision;
      price.changed += found->decision != value.decision;
    }
  }
  explanation.prices.push_back(price);
}

ExplainedHead head_of(const Graph& graph, const Plan& plan) {
  ExplainedHead head;
  if (plan.budget > 0) head.budget = plan.budget;
  head.peak = plan.peak();
  head.lower_bound = plan.lower_bound;
  head.order_free_bound = plan.order_free_bound;
  head.seconds = plan.seconds;
  head.least_seconds = plan.least_seconds;
  head.seconds_bound = plan.seconds_bound;
  head.holds = peak_split(graph, plan);
  head.plan_hash = hash_text(plan_hash(plan));
  head.target = plan.target;
  return head;
}

}  // namespace

void check_options(const ExplainOptions& wanted, SourceLine where) {
  if (!wanted.match.empty()) expression(wanted.match, where);
}

Explanation explain_plan(const Graph& graph, const Plan& plan, const PlanOptions& options,
                         const ExplainOptions& wanted, SourceLine where) {
  Explanation explanation;
  const Target& target = target_of(options);
  const Machine& machine = options.machine ? *options.machine : reference_machine();
  RegionCache regions;  // bodies are planned once for all that is planned here
  PlanOptions search = options;
  if (!search.regions) search.regions = &regions;
  search.warm_start.clear();
  search.after = {};
  search.one_round = true;  // a limit in time was for the plan
  if (search.control && search.control->timed()) search.control = nullptr;

  const std::vector<PlannedRegion> planned = planned_regions(graph, plan);
  for (const PlannedRegion& region : planned) explanation.regions.push_back(region.region);
  explanation.values =
      matching(explained_values(planned, target, machine, options.skip), wanted.match, where);
  const std::size_t all = explanation.values.size();
  explanation.values = largest(std::move(explanation.values), wanted.top);
  explanation.left_out = all - explanation.values.size();

  explanation.head = head_of(graph, plan);
  PlanOptions quick = search;
  quick.effort = quick.effort.at_most(Effort::quick);
  if (options.memory) {
    PlanOptions free = search;
    free.memory.reset();
    free.tiers.clear();
    explanation.head.free_peak = make_plan(graph, target, free).peak();
    const std::int64_t smallest = smallest_plan(graph, target, quick).budget;
    explanation.head.smallest = std::min(smallest, plan.peak());
    const PlanOptions& effort = wanted.force ? search : quick;
    const std::int64_t step = price_step(*options.memory);
    for (const std::int64_t change : {-step, step}) add_price(explanation, graph, plan, effort, change);
  } else {
    explanation.head.free_peak = plan.peak();
    explanation.head.smallest = smallest_plan(graph, target, quick).budget;
  }
  add_alternatives(explanation, planned, search, wanted.force);

  explanation.hints = plan.hints;
  for (std::size_t r = 1; r < planned.size(); ++r)
    explanation.hints.insert(explanation.hints.end(), planned[r].plan->hints.begin(),
                             planned[r].plan->hints.end());
  std::ranges::stable_sort(explanation.hints, {}, &HintReport::honoured);
  return explanation;
}

}  // namespace tidemark
