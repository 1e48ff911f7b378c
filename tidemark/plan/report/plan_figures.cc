#include "tidemark/plan/report/plan_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/packed.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/plan_hash.h"

namespace tidemark {
namespace {

using FiguresJson = nlohmann::ordered_json;

double percent_more(double seconds, double least) { return least > 0 ? 100 * (seconds / least - 1) : 0; }

// Nodes that `counts`, those of regions too.
template <class Counts>
std::int64_t count_with_regions(const Graph& graph, const Counts& counts, bool is_region = false) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    count += counts(graph, node, is_region);
    for (const Graph& region : node.regions) count += count_with_regions(region, counts, true);
  }
  return count;
}

bool undoes_call(const Graph&, const Node& node, bool) { return node.op->undoes; }

bool runs_steps_again(const Graph& graph, const Node& node, bool) {
  if (!node.op->replays) return false;
  const NodeCall call(graph, node);
  for (std::size_t r = 0; r < node.regions.size(); ++r) {
    if (node.op->replays(call, r)) return true;
  }
  return false;
}

// Values that wait in another memory: the host's, or any other.
std::int64_t copies_to(const Plan& plan, bool to_host) {
  return std::ranges::count_if(plan.steps, [&](const Step& step) {
    if (step.kind != StepKind::copy) return false;
    const auto to = static_cast<std::size_t>(plan.buffers[step.out[0].buffer.index].memory);
    return to > 0 && (plan.further[to - 1].name == host_memory_name) == to_host;
  });
}

FiguresJson memories_json(const Plan& plan) {
  FiguresJson list = FiguresJson::array();
  for (std::size_t m = 0; m < memory_count(plan); ++m) {
    const PlanMemory memory = memory_of(plan, m);
    list.push_back({{"name", memory.name},
                    {"budget", memory.budget > 0 ? FiguresJson(memory.budget) : FiguresJson(nullptr)},
                    {"peak", memory.peak()},
                    {"lower_bound", memory.lower_bound}});
  }
  return list;
}

}  // namespace

int repeats_of(const Plan& plan) {
  std::vector<std::uint32_t> nodes;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::compute) nodes.push_back(step.node.index);
  }
  std::ranges::sort(nodes);
  const auto rest = std::ranges::unique(nodes);
  return static_cast<int>(rest.size()) - plan.duplicates.steps;
}

std::int64_t loops_run_again(const Graph& graph) { return count_with_regions(graph, runs_steps_again); }

std::string steps_run_again(const Graph& graph) {
  const std::int64_t loops = loops_run_again(graph);
  return loops == 0 ? "" : fmt::format("steps of {} loop{}", loops, loops == 1 ? "" : "s");
}

FiguresJson plan_figures(const Graph& graph, const Plan& plan) {
  FiguresJson json = {{"fits", plan.budget <= 0 || plan.peak() <= plan.budget},
                      {"budget", nullptr},
                      {"peak", plan.peak()},
                      {"plan_hash", hash_text(plan_hash(plan))},
                      {"steps", plan.steps.size()},
                      {"kernels", kernel_count(plan)},
                      {"recomputed", repeats_of(plan)},
                      {"predicted_seconds", plan.seconds},
                      {"least_seconds", plan.least_seconds},
                      {"overhead_percent", percent_more(plan.seconds, plan.least_seconds)},
                      {"lower_bound_percent", percent_more(plan.seconds_bound, plan.least_seconds)},
                      {"optimal", plan.seconds <= plan.seconds_bound * (1 + 1e-9)},
                      {"input_bytes", plan.input_bytes},
                      {"arena_bytes", plan.arena_bytes},
                      {"lower_bound", plan.lower_bound},
                      {"order_free_bound", plan.order_free_bound},
                      {"store_all_bytes", plan.store_all_bytes},
                      {"flops", plan.flops},
                      {"bytes_moved", plan.bytes_moved}};
  if (plan.budget > 0) json["budget"] = plan.budget;
  json["memories"] = memories_json(plan);
  const PeakSplit split = peak_split(graph, plan);
  for (int r = 0; r < peak_role_count; ++r) {
    const auto role = static_cast<PeakRole>(r);
    json["peak_holds"][std::string(name_of(role))] = split.of(role);
  }
  json["gradients"] = {{"bytes", split.all_gradients},
                       {"at_once", split.most_gradients},
                       {"with_state", split.most_learned()},
                       {"all_needed", split.all_needed}};
  json["lanes"] = FiguresJson::array();
  for (const Lane& lane : plan.lanes) json["lanes"].push_back(lane.name);
  json["choices"] = {{"recompute", repeats_of(plan)},
                     {"recompute_as_faster", plan.duplicates.values},
                     {"loops_again", loops_run_again(graph)},
                     {"compress", count_with_regions(graph, unpacks_own)},
                     {"host", copies_to(plan, true)},
                     {"disk", copies_to(plan, false)},
                     {"invert", count_with_regions(graph, undoes_call)}};
  return json;
}

std::string time_text(double seconds) {
  constexpr double long_seconds = 10;
  return seconds < long_seconds ? fmt::format("{:.4g} ms", 1e3 * seconds) : fmt::format("{:.4g} s", seconds);
}

std::string verdict(const Graph& graph, const Plan& plan) {
  const auto text = [](std::int64_t bytes) { return to_string(Bytes(bytes)); };
  if (plan.budget > 0 && plan.peak() > plan.budget) {
    return fmt::format("Does not fit: the smallest plan found takes {}, {} more than the budget of {}.",
                       text(plan.peak()), text(plan.peak() - plan.budget), text(plan.budget));
  }
  const std::string memory =
      plan.budget > 0 ? fmt::format("Fits: {} of the {} allowed.", text(plan.peak()), text(plan.budget))
                      : fmt::format("Takes {}, the least found at no extra time.", text(plan.peak()));
  constexpr double seen = 0.00005;  // an extra time that two decimals show
  const std::string extra = plan.extra_time() >= seen
                                ? fmt::format(", {:.2f}% more than without a budget", 100 * plan.extra_time())
                                : "";
  const int again = repeats_of(plan);
  const std::int64_t undone = count_with_regions(graph, undoes_call);
  const std::int64_t moves = std::ranges::count(plan.steps, StepKind::copy, &Step::kind);
  std::vector<std::string> reasons;
  if (again > 0) reasons.push_back(fmt::format("{} step{} computed again", again, again == 1 ? "" : "s"));
  if (const std::string loops = steps_run_again(graph); !loops.empty())
    reasons.push_back(fmt::format("{} run again", loops));
  if (undone > 0) reasons.push_back(fmt::format("{} call{} undone", undone, undone == 1 ? "" : "s"));
  if (moves > 0) reasons.push_back(fmt::format("{} cop{} between memories", moves, moves == 1 ? "y" : "ies"));
  return fmt::format("{} {} predicted{}{}{}.", memory, time_text(plan.seconds), extra,
                     reasons.empty() ? "" : ", with ", fmt::join(reasons, ", "));
}

}  // namespace tidemark
