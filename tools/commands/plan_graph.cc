#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "tidemark/engine/memory_prices.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/host_calls.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/solve/dag/schedule.h"
#include "tools/commands/plan_command.h"
#include "tools/report/model_formulas.h"
#include "tools/report/model_planning.h"
#include "tools/report/plan_page.h"
#include "tools/report/print_figures.h"
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
  std::string page;
  if (!command.html.empty()) {
    control.enter("page", 0);
    page = plan_page({.title = model.model,
                      .traced = planning.traced(),
                      .graph = graph,
                      .plan = plan,
                      .lossy = command.lossy,
                      .options = options,
                      .points = command.html_plans});
  }
  control.finish();
  SizeFormulas formulas;
  if (!command.by.empty()) formulas = formulas_of_model(model, command.by, options);
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
    if (!command.by.empty()) json["by"] = formulas_json(formulas);
    json["micro_batches"] = model.split;
    json["choices"]["split"] = model.split;
    json["effort"] = command.effort.text;
    if (options.memory) json["solvers"] = solvers_json(report.solvers);
    json["seconds"] = planning.seconds();
    print_figures(json);
    return exit_ok;
  }
  if (command.print_graph) fmt::print("{}\n", print(graph));
  fmt::print("{}{}", summary(graph, plan), to_text(host_calls(graph, plan, target)));
  if (model.split > 1) fmt::print("{:<18}{}\n", "micro-batches", model.split);
  fmt::print("{}", to_text(prices));
  if (!command.by.empty()) fmt::print("{}", to_text(formulas));
  if (command.passes) {
    print_passes("optimisations", planning.optimised().passes);
    print_passes("passes", report.passes);
  }
  if (command.passes && options.memory) print_solvers(report.solvers);
  fmt::print("planned in {:.2f} s\n", planning.seconds());
  return exit_ok;
}

}  // namespace tidemark::cli
