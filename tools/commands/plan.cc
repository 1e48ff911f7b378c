#include "tools/commands/plan.h"

#include <fmt/format.h>

#include <memory>

#include "tools/commands/plan_command.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

std::vector<TierBudget> parse_tiers(const std::vector<std::string>& texts) {
  std::vector<TierBudget> tiers;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("--tier {}", text), .expected = "a memory and bytes, such as disk=20GiB"});
    }
    tiers.push_back({text.substr(0, sign), parse_size("--tier", text.substr(sign + 1))});
  }
  return tiers;
}

Lossy lossy_within(double error) {
  if (!(error > 0 && error < 1))
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--lossy {}", error), .expected = "a share between 0 and 1, such as 0.004"});
  return {.error = error};
}

ExitCode run(const CLI::App& plan, const PlanCommand& command) {
  if (!command.memory)
    refuse_options(plan, {"--solver", "--without", "--tier", "--lossy"}, "a plan without --memory");
  if (command.lossy) refuse_options(plan, {"--by-batch", "--passes"}, "a plan with --lossy");
  if (!command.memory && command.split_automatically)
    refuse_options(plan, {"--split"}, "a plan without --memory, where nothing asks for micro-batches");
  if (!command.check.empty())
    refuse_options(plan, {"--solver", "--without", "--passes"}, "a schedule that is only judged");
  switch (command.model.kind()) {
    case ModelKind::dag_file:
      refuse_options(plan,
                     {"--batch", "--context", "--dtype", "--optimizer", "--disable", "--dump-after",
                      "--output", "--machine", "--print", "--by-batch", "--tier", "--lossy", "--split"},
                     "a graph of costs and bytes");
      if (!command.memory) refuse_options(plan, {"--passes"}, "a graph of costs and bytes without --memory");
      return plan_dag(command);
    case ModelKind::graph_file:
      refuse_options(plan,
                     {"--batch", "--context", "--dtype", "--optimizer", "--by-batch", "--lossy", "--split"},
                     "a graph in a file");
      break;
    case ModelKind::built_in:
      break;
  }
  refuse_options(plan, {"--check"}, "a graph of operations");
  return plan_graph(command);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<PlanCommand>();
  CLI::App* plan = app.add_subcommand("plan", "plan the memory of a graph or a built-in model");
  add_model_options(*plan, command->model);
  plan->add_option_function<std::string>(
      "--memory", [command](const std::string& text) { command->memory = Budget::parse(text); },
      "budget: bytes (4096, 64MiB, 2GB), or a share of the peak without one (90%)");
  plan->add_option_function<std::vector<std::string>>(
      "--tier", [command](const std::vector<std::string>& texts) { command->tiers = parse_tiers(texts); },
      "a further memory of the machine and what may be taken of it (disk=20GiB); may be given more than "
      "once");
  plan->add_option_function<double>(
      "--lossy", [command](double error) { command->lossy = lossy_within(error); },
      "what waits for the backward pass may do so in a form with this error (0.004: 8 bits per number)");
  plan->add_option_function<std::string>(
      "--split",
      [command](const std::string& text) {
        command->split_automatically = text == "automatic";
        if (!command->split_automatically) command->model.split = parse_count("--split", text, {1, 1 << 20});
      },
      "compute the batch of a built-in model in so many micro-batches; automatic: as many as are fastest "
      "within the budget");
  plan->add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  add_effort_option(*plan, command->effort);
  add_solver_options(*plan, command->solvers);
  add_text_option(*plan, "--schedule", command->schedule,
                  "write the nodes in order of execution to this file");
  add_text_option(*plan, "--check", command->check,
                  "judge this schedule of a .dag.json instead of searching");
  add_text_option(*plan, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file");
  plan->add_option("--disable", command->disable, "passes to leave out, by name");
  add_text_option(*plan, "--dump-after", command->dump_after, "print the draft after this pass");
  add_text_option(*plan, "--output", command->output, "write the plan as JSON to this file");
  plan->add_flag("--passes", command->passes,
                 "how long each pass took, and what each solver did for the budget");
  plan->add_flag("--by-batch", command->by_batch, "the peak of a built-in model as a formula in the batch");
  plan->add_flag("--print", command->print_graph, "print the graph as planned");
  plan->add_flag("--json", command->json, "the figures as JSON");
  plan->callback([plan, command, &exit_code] { exit_code = run(*plan, *command); });
}

}  // namespace tidemark::cli
