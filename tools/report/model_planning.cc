#include "tools/report/model_planning.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tidemark/engine/plan_target.h"
#include "tidemark/plan/machine.h"
#include "tools/report/graph_search.h"
#include "tools/report/model_changes.h"
#include "tools/report/model_split.h"
#include "tools/report/plan_page.h"
#include "tools/report/print_figures.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

ModelPlanning::ModelPlanning(const PlanCommand& command, SearchControl& control, After after)
    : command_(command),
      control_(control),
      machine_(command.machine.empty() ? std::optional<Machine>() : load_machine(command.machine)),
      marked_(command.lossy ? StandIns::lossy : StandIns::exact),
      model_(command.model) {
  std::vector<TierBudget> tiers = command.tiers;
  if (command.disk.given()) command.disk.add_to(tiers, machine_);
  traced_ = model_.load();
  options_ = {.machine = machine_ ? &*machine_ : nullptr,
              .fixed_order = command.fixed_order,
              .skip = command.disable,
              .solvers = command.solvers.choice()};
  command.device.add_to(options_);
  const Target& target = target_of(options_);
  graph_ = prepare_graph(traced_, {}, &optimised_, {}, target);
  if (command.memory) {
    // A share is of what is needed at no extra time for the batch as a whole.
    std::int64_t whole = 0;
    if (command.memory->relative() && model_.split > 1) {
      ModelOption unsplit = model_;
      unsplit.split = 1;
      whole = make_plan(prepare_graph(unsplit.load(), {}, nullptr, {}, target), target, options_).peak();
    } else if (command.memory->relative()) {
      whole = make_plan(graph_, target, options_).peak();
    }
    options_.memory = command.memory->bytes(whole);
    options_.tiers = tiers;
    options_.allow = command.allow;
  }
  options_.after = std::move(after);
  options_.effort = command.effort.value.factor;
  options_.control = &control;
  if (command.split_automatically) {
    const TimeShare share(&control, 0.5);
    model_.split = fastest_split(model_, options_);
    traced_ = model_.load();
    graph_ = prepare_graph(traced_, {}, &optimised_, {}, target);
  }
}

// A limit in time leaves a part of it for what would help. Within a budget, what loops keep, what is undone
// and the forms in which values wait change the graph.
Result<Plan, Infeasible> ModelPlanning::plan_leaving_time() {
  constexpr double most = 0.85;
  const TimeShare share(&control_, most);
  return plan_traced(traced_, command_.lossy, graph_, options_, &report_);
}

Plan ModelPlanning::plan() {
  Result<Plan, Infeasible> result = plan_leaving_time();
  if (result) return std::move(result).value();
  control_.enter("changes", 0);
  std::vector<std::string> changes =
      changes_of_model(model_, command_.lossy, options_, result.error().smallest.least_seconds);
  control_.finish();
  if (!command_.html.empty()) {
    Plan smallest = result.error().smallest;
    smallest.budget = result.error().budget;
    write_text(command_.html, plan_page({.title = model_.model,
                                         .traced = traced_,
                                         .graph = graph_,
                                         .plan = smallest,
                                         .lossy = command_.lossy,
                                         .options = options_,
                                         .points = 1,
                                         .notes = changes}));
  }
  if (command_.json) {
    Json json = misfit(command_, graph_, result.error());
    json["changes"] = changes;
    json["solvers"] = solvers_json(report_.solvers);
    json["seconds"] = seconds();
    print_figures(json);
    std::fflush(stdout);
  }
  throw InfeasibleBudget(graph_, result.error(), {}, std::move(changes));
}

}  // namespace tidemark::cli
