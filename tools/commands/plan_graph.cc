#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/host_calls.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/solve/dag/schedule.h"
#include "tools/commands/plan_command.h"
#include "tools/report/model_changes.h"
#include "tools/report/model_split.h"
#include "tools/report/plan_page.h"
#include "tools/report/progress.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

Json figures(const PlanCommand& command, const Graph& graph, const Plan& plan) {
  Json json = {{"model", command.model.model}, {"nodes", graph.nodes().size()}};
  json.update(plan_figures(graph, plan));
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

// A limit in time leaves a part of it for what would help. Within a budget, what loops keep, what is undone
// and the forms in which values wait change the graph.
Result<Plan, Infeasible> plan_leaving_time(const Graph& traced, const std::optional<Lossy>& lossy,
                                           Graph& graph, const PlanOptions& options, PipelineReport* report) {
  constexpr double most = 0.85;
  const TimeShare share(options.control, most);
  const bool one_graph = !options.memory || (!loop_memory_range(traced).any && invertible_calls(traced) == 0);
  if (!lossy && one_graph) return try_plan(graph, target_of(options), options, report);
  PlanWithValues found = plan_with_values(traced, lossy, {}, options);
  graph = std::move(found.graph);
  return std::move(found.plan);
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
    if (!command.html.empty()) {
      Plan smallest = result.error().smallest;
      smallest.budget = result.error().budget;
      write_text(command.html, plan_page({.title = model.model,
                                          .traced = traced,
                                          .graph = graph,
                                          .plan = smallest,
                                          .lossy = command.lossy,
                                          .options = options,
                                          .points = 1,
                                          .notes = changes}));
    }
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
  const Plan& plan = result.value();
  std::string page;
  if (!command.html.empty()) {
    control.enter("page", 0);
    page = plan_page({.title = model.model,
                      .traced = traced,
                      .graph = graph,
                      .plan = plan,
                      .lossy = command.lossy,
                      .options = options,
                      .points = command.html_plans});
  }
  control.finish();
  if (!command.html.empty()) write_text(command.html, page);
  if (!command.output.empty()) write_text(command.output, to_json(plan) + '\n');
  if (!command.schedule.empty()) {
    Sequence order;
    for (NodeId node : executions_of(plan)) order.push_back(static_cast<int>(node.index));
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
    json["seconds"] = seconds();
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
    print_passes("optimisations", optimised.passes);
    print_passes("passes", report.passes);
  }
  if (command.passes && options.memory) print_solvers(report.solvers);
  fmt::print("planned in {:.2f} s\n", seconds());
  return exit_ok;
}

}  // namespace tidemark::cli
