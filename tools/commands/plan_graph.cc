#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "tidemark/base/stopwatch.h"
#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/host_calls.h"
#include "tidemark/plan/report/packed.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/solve/dag/schedule.h"
#include "tools/commands/plan_command.h"
#include "tools/report/graph_search.h"
#include "tools/report/model_changes.h"
#include "tools/report/model_formulas.h"
#include "tools/report/model_split.h"
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

Json misfit(const PlanCommand& command, const Graph& graph, const Infeasible& infeasible) {
  const PeakParts parts = parts_at_peak(infeasible.smallest);
  const Node& node = graph[parts.node];
  return {{"model", command.model.model},
          {"nodes", graph.nodes().size()},
          {"fits", false},
          {"budget", infeasible.budget},
          {"floor", infeasible.smallest.peak()},
          {"pinned_by",
           {{"node", parts.node.index},
            {"op", node.op->name},
            {"where", short_form(node.where)},
            {"inputs", parts.inputs},
            {"operands", parts.operands},
            {"results", parts.results},
            {"scratch", parts.scratch},
            {"outputs", parts.outputs},
            {"waiting", parts.waiting}}}};
}

// A limit in time leaves a part of it for what would help.
Result<Plan, Infeasible> plan_leaving_time(const Graph& traced, const std::optional<Lossy>& lossy,
                                           Graph& graph, const PlanOptions& options, PipelineReport* report) {
  constexpr double most = 0.85;
  const TimeShare share(options.control, most);
  return plan_traced(traced, lossy, graph, options, report);
}

void print_passes(std::string_view title, const std::vector<PassReport>& passes) {
  fmt::print("\n{}\n", title);
  for (const PassReport& pass : passes) {
    fmt::print("  {:<12} {:>9.1f} ms{}\n", pass.name, 1e3 * pass.seconds, pass.skipped ? "  skipped" : "");
  }
}

}  // namespace

ExitCode plan_graph(const PlanCommand& command) {
  const Stopwatch watch;
  const auto seconds = [&] { return watch.seconds(); };
  SearchControl control(planning_control(command.effort.value));
  std::optional<Machine> machine;
  if (!command.machine.empty()) machine = load_machine(command.machine);
  std::vector<TierBudget> tiers = command.tiers;
  if (command.disk.given()) command.disk.add_to(tiers, machine);
  const MarkedReads marked(command.lossy ? StandIns::lossy : StandIns::exact);
  ModelOption model = command.model;
  Graph traced = model.load();
  OptReport optimised;
  PlanOptions options{.machine = machine ? &*machine : nullptr,
                      .fixed_order = command.fixed_order,
                      .skip = command.disable,
                      .solvers = command.solvers.choice()};
  command.device.add_to(options);
  const Target& target = target_of(options);
  Graph graph = prepare_graph(traced, {}, &optimised, {}, target);
  if (command.memory) {
    // A share is of what is needed at no extra time for the batch as a whole.
    std::int64_t whole = 0;
    if (command.memory->relative() && model.split > 1) {
      ModelOption unsplit = model;
      unsplit.split = 1;
      whole = make_plan(prepare_graph(unsplit.load(), {}, nullptr, {}, target), target, options).peak();
    } else if (command.memory->relative()) {
      whole = make_plan(graph, target, options).peak();
    }
    options.memory = command.memory->bytes(whole);
    options.tiers = tiers;
    options.allow = command.allow;
  }
  if (!command.dump_after.empty()) {
    options.after = [&](std::string_view pass, const Draft& draft) {
      if (pass == command.dump_after) fmt::print("-- after {}\n{}\n", pass, to_text(draft));
    };
  }
  options.effort = command.effort.value.factor;
  options.control = &control;
  if (command.split_automatically) {
    const TimeShare share(&control, 0.5);
    model.split = fastest_split(model, options);
    traced = model.load();
    graph = prepare_graph(traced, {}, &optimised, {}, target);
  }
  PipelineReport report;
  Result<Plan, Infeasible> result = plan_leaving_time(traced, command.lossy, graph, options, &report);
  if (!result) {
    control.enter("changes", 0);
    std::vector<std::string> changes =
        changes_of_model(model, command.lossy, options, result.error().smallest.least_seconds);
    control.finish();
    if (command.json) {
      Json json = misfit(command, graph, result.error());
      json["changes"] = changes;
      json["solvers"] = solvers_json(report.solvers);
      json["seconds"] = seconds();
      fmt::print("{}\n", json.dump(2));
      std::fflush(stdout);
    }
    throw InfeasibleBudget(graph, result.error(), {}, std::move(changes));
  }
  std::vector<MemoryPrice> prices;
  if (command.prices) {
    control.enter("prices", 0);
    prices = memory_prices(traced, command.lossy, {}, options);
  }
  control.finish();
  SizeFormulas formulas;
  if (!command.by.empty()) formulas = formulas_of_model(model, command.by, options);
  const Plan& plan = result.value();
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
    if (!command.by.empty()) json["by"] = formulas_json(formulas);
    json["micro_batches"] = model.split;
    json["choices"]["split"] = model.split;
    json["effort"] = command.effort.text;
    if (options.memory) json["solvers"] = solvers_json(report.solvers);
    json["seconds"] = seconds();
    fmt::print("{}\n", json.dump(2));
    return exit_ok;
  }
  if (command.print_graph) fmt::print("{}\n", print(graph));
  fmt::print("{}{}", summary(graph, plan), to_text(host_calls(graph, plan, target)));
  if (model.split > 1) fmt::print("{:<18}{}\n", "micro-batches", model.split);
  fmt::print("{}", to_text(prices));
  fmt::print("{}", to_text(formulas));
  if (command.passes) {
    print_passes("optimisations", optimised.passes);
    print_passes("passes", report.passes);
  }
  if (command.passes && options.memory) print_solvers(report.solvers);
  fmt::print("planned in {:.2f} s\n", seconds());
  return exit_ok;
}

}  // namespace tidemark::cli
