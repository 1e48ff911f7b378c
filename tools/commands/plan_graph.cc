#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/report/host_calls.h"
#include "tidemark/plan/report/packed.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/solve/dag/schedule.h"
#include "tools/commands/plan_command.h"
#include "tools/report/graph_search.h"
#include "tools/report/model_changes.h"
#include "tools/report/model_planning.h"
#include "tools/report/progress.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

double percent_above(double seconds, double least) { return least > 0 ? 100 * (seconds / least - 1) : 0; }

// Nodes that `counts`, those of regions too.
template <class Counts>
std::int64_t count_nodes(const Graph& graph, const Counts& counts, bool is_region = false) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    count += counts(graph, node, is_region);
    for (const Graph& region : node.regions) count += count_nodes(region, counts, true);
  }
  return count;
}
bool undoes(const Graph&, const Node& node, bool) { return node.op->undoes; }
// Values that wait in another memory: the host's, or any other.
std::int64_t copies(const Plan& plan, bool to_host) {
  return std::ranges::count_if(plan.steps, [&](const Step& step) {
    if (step.kind != StepKind::copy) return false;
    const auto to = static_cast<std::size_t>(plan.buffers[step.out[0].buffer.index].memory);
    return to > 0 && (plan.further[to - 1].name == host_memory_name) == to_host;
  });
}

Json figures(const PlanCommand& command, const Graph& graph, const Plan& plan) {
  Json json = {{"model", command.model.model},
               {"nodes", graph.nodes().size()},
               {"fits", true},
               {"budget", nullptr},
               {"peak", plan.peak()},
               {"plan_hash", hash_text(plan_hash(plan))},
               {"steps", plan.steps.size()},
               {"kernels", kernel_count(plan)},
               {"recomputed", repeats(plan)},
               {"predicted_seconds", plan.seconds},
               {"least_seconds", plan.least_seconds},
               {"overhead_percent", percent_above(plan.seconds, plan.least_seconds)},
               {"lower_bound_percent", percent_above(plan.seconds_bound, plan.least_seconds)},
               {"optimal", plan.seconds <= plan.seconds_bound * (1 + 1e-9)},
               {"input_bytes", plan.input_bytes},
               {"arena_bytes", plan.arena_bytes},
               {"lower_bound", plan.lower_bound},
               {"order_free_bound", plan.order_free_bound},
               {"store_all_bytes", plan.store_all_bytes},
               {"flops", plan.flops},
               {"bytes_moved", plan.bytes_moved}};
  if (plan.budget > 0) json["budget"] = plan.budget;
  json["memories"] = Json::array();
  for (std::size_t m = 0; m < memory_count(plan); ++m) {
    const PlanMemory memory = memory_of(plan, m);
    json["memories"].push_back({{"name", memory.name},
                                {"budget", memory.budget > 0 ? Json(memory.budget) : Json(nullptr)},
                                {"peak", memory.peak()},
                                {"lower_bound", memory.lower_bound}});
  }
  const PeakSplit split = peak_split(graph, plan);
  for (int r = 0; r < peak_role_count; ++r) {
    const auto role = static_cast<PeakRole>(r);
    json["peak_holds"][std::string(name_of(role))] = split.of(role);
  }
  json["gradients"] = {{"bytes", split.all_gradients},
                       {"at_once", split.most_gradients},
                       {"with_state", split.most_learned()},
                       {"all_needed", split.all_needed}};
  json["lanes"] = Json::array();
  for (const Lane& lane : plan.lanes) json["lanes"].push_back(lane.name);
  json["choices"] = {{"recompute", repeats(plan)},
                     {"recompute_as_faster", plan.duplicates.values},
                     {"compress", count_nodes(graph, unpacks_own)},
                     {"host", copies(plan, true)},
                     {"disk", copies(plan, false)},
                     {"invert", count_nodes(graph, undoes)}};
  return json;
}

// What the device hands to the CPU.
Json host_calls_json(const std::vector<HostCall>& calls) {
  Json list = Json::array();
  for (const HostCall& call : calls) {
    list.push_back({{"op", call.op},
                    {"where", short_form(call.where)},
                    {"runs", call.runs},
                    {"copied_bytes", call.bytes},
                    {"in_region", call.in_region}});
  }
  return list;
}

void print_passes(std::string_view title, const std::vector<PassReport>& passes) {
  fmt::print("\n{}\n", title);
  for (const PassReport& pass : passes) {
    fmt::print("  {:<12} {:>9.1f} ms{}\n", pass.name, 1e3 * pass.seconds, pass.skipped ? "  skipped" : "");
  }
}

}  // namespace

ExitCode plan_graph(const PlanCommand& command) {
  SearchControl control(planning_control(command.effort.value));
  ModelPlanning::After after;
  if (!command.dump_after.empty()) {
    after = [&](std::string_view pass, const Draft& draft) {
      if (pass == command.dump_after) fmt::print("-- after {}\n{}\n", pass, to_text(draft));
    };
  }
  ModelPlanning planning(command, control, std::move(after));
  const Plan plan = planning.plan();
  const ModelOption& model = planning.model();
  const Graph& graph = planning.graph();
  const PlanOptions& options = planning.options();
  const PipelineReport& report = planning.report();
  const Target& target = target_of(options);
  std::vector<MemoryPrice> prices;
  if (command.prices) {
    control.enter("prices", 0);
    prices = memory_prices(planning.traced(), command.lossy, {}, options);
  }
  control.finish();
  if (!command.output.empty()) write_text(command.output, to_json(plan) + '\n');
  if (!command.schedule.empty()) {
    Sequence order;
    for (NodeId node : executions(plan)) order.push_back(static_cast<int>(node.index));
    write_text(command.schedule, schedule_text(order));
  }
  if (command.json) {
    Json json = figures(command, graph, plan);
    json["device"] = plan.target;
    json["on_host"] = host_calls_json(host_calls(graph, plan, target));
    for (const MemoryPrice& price : prices) {
      json["prices"].push_back({{"memory", price.memory},
                                {"budget", price.budget.count},
                                {"more", price.more.count},
                                {"seconds_saved", price.seconds_saved},
                                {"seconds_per_byte", price.seconds_per_byte()}});
    }
    json["micro_batches"] = model.split;
    json["choices"]["split"] = model.split;
    json["effort"] = command.effort.text;
    if (options.memory) json["solvers"] = solvers_json(report.solvers);
    json["seconds"] = planning.seconds();
    fmt::print("{}\n", json.dump(2));
    return exit_ok;
  }
  if (command.print_graph) fmt::print("{}\n", print(graph));
  fmt::print("{}{}", summary(graph, plan), to_text(host_calls(graph, plan, target)));
  if (model.split > 1) fmt::print("{:<18}{}\n", "micro-batches", model.split);
  fmt::print("{}", to_text(prices));
  if (command.by_batch) {
    const std::optional<Footprint> line = footprint_of_model(model, graph, plan, target);
    fmt::print("{:<18}{}\n", "by batch",
               line ? to_text(*line) : "no formula: the graph depends on the batch");
  }
  if (command.passes) {
    print_passes("optimisations", planning.optimised().passes);
    print_passes("passes", report.passes);
  }
  if (command.passes && options.memory) print_solvers(report.solvers);
  fmt::print("planned in {:.2f} s\n", planning.seconds());
  return exit_ok;
}

}  // namespace tidemark::cli
