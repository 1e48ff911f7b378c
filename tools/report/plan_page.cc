#include "tools/report/plan_page.h"

#include <algorithm>
#include <deque>

#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/several_steps.h"
#include "tidemark/engine/explain_plan.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/plan_page.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/page.h"

namespace tidemark::cli {
namespace {

constexpr std::size_t most_nodes = 4000;  // of which many plans are made without being asked for
constexpr int usual_points = 16;
constexpr std::size_t most_refs = 4'000'000;  // of all plans together: a page of about 30 MB

struct PlannedOnPage {
  const Graph* graph;
  Plan plan;
};

std::size_t refs_of(const Plan& plan) {
  std::size_t count = 0;
  for (const Step& step : plan.steps) count += 4 + step.in.size() + step.out.size();
  return count;
}

// Where what is planned depends on the budget (loops, what is undone, forms), each budget has a graph.
std::vector<PlannedOnPage> plans_of_graphs(const PlanPage& page, PlanOptions options, int points,
                                           std::deque<Graph>& graphs) {
  std::vector<PlannedOnPage> list;
  options.memory.reset();
  options.tiers.clear();
  const Target& target = target_of(options);
  graphs.push_back(prepare_graph(page.traced, {}, nullptr, {}, target));
  Plan top = make_plan(graphs.back(), target, options);
  const std::int64_t high = top.peak();
  list.push_back({&graphs.back(), std::move(top)});
  if (has_steps_to_join(graphs.back(), target)) {
    PlanWithValues free = plan_with_values(page.traced, page.lossy, {}, options);
    graphs.push_back(std::move(free.graph));
    list.push_back({&graphs.back(), std::move(free.plan).value()});
  }
  options.memory = 1;
  options.tiers = page.options.tiers;
  const PlanWithValues nothing = plan_with_values(page.traced, page.lossy, {}, options);
  const std::int64_t low = nothing.plan ? nothing.plan.value().peak() : nothing.plan.error().smallest.peak();
  for (int k = 0; k + 1 < points && low < high; ++k) {
    options.memory = low + (high - low) / (points - 1) * k;
    PlanWithValues found = plan_with_values(page.traced, page.lossy, {}, options);
    if (!found.plan) continue;
    graphs.push_back(std::move(found.graph));
    list.push_back({&graphs.back(), std::move(found.plan).value()});
  }
  return list;
}

std::vector<PlannedOnPage> other_plans(const PlanPage& page, int points, std::deque<Graph>& graphs) {
  PlanOptions options = page.options;
  options.effort = options.effort.at_most(Effort::quick);
  options.after = {};
  options.warm_start.clear();
  const Target& target = target_of(options);
  const bool one_graph = !page.lossy && !loop_memory_range(page.traced).any &&
                         invertible_calls(page.traced) == 0 &&
                         !has_steps_to_join(prepare_graph(page.traced, {}, nullptr, {}, target), target);
  if (!one_graph) return plans_of_graphs(page, std::move(options), points, graphs);
  std::vector<PlannedOnPage> list;
  for (Plan& plan : frontier(page.graph, target, options, points))
    list.push_back({&page.graph, std::move(plan)});
  return list;
}

// What `tidemark explain` says of the plan that was asked for, in the time of a few points of the slider.
std::string explanation_of(const PlanPage& page) {
  const bool fits = !page.options.memory || page.plan.peak() <= *page.options.memory;
  const bool timed = page.options.control && page.options.control->timed();
  if (!fits || timed || page.graph.nodes().size() > most_nodes) return "";
  return to_json(explain_plan(page.graph, page.plan, page.options, {.top = 0}));
}

}  // namespace

std::string plan_page(const PlanPage& page) {
  const Machine& machine = page.options.machine ? *page.options.machine : reference_machine();
  PageContent content = page_content(page.title, page.graph, page.plan, target_of(page.options), machine);
  content.notes = page.notes;
  content.explanation = explanation_of(page);
  const bool quick = page.graph.nodes().size() <= most_nodes;
  const int points = page.points.value_or(quick ? usual_points : 1);
  std::deque<Graph> graphs;
  std::vector<PlannedOnPage> others;
  if (points > 1) others = other_plans(page, points, graphs);
  std::ranges::stable_sort(others, {}, [](const PlannedOnPage& other) { return other.plan.peak(); });
  std::size_t refs = refs_of(page.plan);
  bool placed = false;
  content.plans.clear();
  const auto place = [&] {
    if (placed) return;
    placed = true;
    content.current = content.plans.size();
    content.plans.push_back({page.graph, page.plan});
  };
  for (const PlannedOnPage& other : others) {
    if (other.plan.peak() >= page.plan.peak()) place();
    // Others are found with less effort: one that takes more memory than its neighbour and is no faster says
    // nothing.
    if (!content.plans.empty() && other.plan.seconds >= content.plans.back().plan.seconds) continue;
    if ((refs += refs_of(other.plan)) > most_refs) continue;
    content.plans.push_back({*other.graph, other.plan});
  }
  place();
  return page_html(content);
}

}  // namespace tidemark::cli
