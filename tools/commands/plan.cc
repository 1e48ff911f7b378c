#include "tools/commands/plan.h"

#include <fmt/format.h>

#include <memory>

#include "tools/commands/plan_command.h"
#include "tools/options/choice_option.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

// Means that are not allowed are not used; a number of micro-batches is asked for.
PlanCommand as_allowed(PlanCommand command) {
  const Choices& allow = command.allow;
  const bool split = command.split_automatically || command.model.split > 1;
  check_means(allow, {.host = names_host(command.tiers),
                      .disk = names_disk(command.tiers) || command.disk.given(),
                      .split = split});
  if (!allow.has(Choice::split) && command.model.split > 1) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--split {} asks for micro-batches, and --allow does not name split",
                              command.model.split),
          .help = "name split too, or give --split automatic"});
  }
  command.tiers = allowed_tiers(std::move(command.tiers), allow);
  if (!allow.has(Choice::disk)) command.disk = {};
  if (!allow.has(Choice::compress)) command.lossy.reset();
  if (!allow.has(Choice::split)) command.split_automatically = false;
  return command;
}

ExitCode run(const CLI::App& plan, const PlanCommand& given) {
  given.disk.check();
  if (!given.memory)
    refuse_options(plan, {"--solver", "--without", "--tier", "--disk", "--lossy", "--allow", "--prices"},
                   "a plan without --memory");
  if (!given.device.is_cpu())
    refuse_options(plan, {"--disk", "--disk-memory"}, "a GPU: give --tier disk=20GiB");
  const PlanCommand command = as_allowed(given);
  if (command.lossy) refuse_options(plan, {"--passes"}, "a plan with --lossy");
  if (command.memory)
    refuse_options(plan, {"--by"}, "a plan with --memory, whose peak is the budget at every size");
  if (!command.memory && command.split_automatically)
    refuse_options(plan, {"--split"}, "a plan without --memory, where nothing asks for micro-batches");
  if (!command.check.empty())
    refuse_options(plan, {"--solver", "--without", "--passes"}, "a schedule that is only judged");
  switch (command.model.kind()) {
    case ModelKind::dag_file:
      refuse_options(plan,
                     {"--batch", "--context", "--width", "--layers", "--dtype", "--optimizer", "--disable",
                      "--dump-after", "--output", "--machine", "--print", "--by", "--tier", "--disk",
                      "--lossy", "--split", "--allow", "--prices", "--device"},
                     "a graph of costs and bytes");
      if (!command.memory) refuse_options(plan, {"--passes"}, "a graph of costs and bytes without --memory");
      return plan_dag(command);
    case ModelKind::graph_file:
      refuse_options(plan,
                     {"--batch", "--context", "--width", "--layers", "--dtype", "--optimizer", "--by",
                      "--lossy", "--split"},
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
  add_tier_option(*plan, command->tiers);
  add_disk_options(*plan, command->disk);
  add_lossy_option(*plan, command->lossy);
  plan->add_option_function<std::string>(
      "--split",
      [command](const std::string& text) {
        command->split_automatically = text == "automatic";
        if (!command->split_automatically) command->model.split = parse_count("--split", text, {1, 1 << 20});
      },
      "compute the batch of a built-in model in so many micro-batches; automatic: as many as are fastest "
      "within the budget");
  plan->add_option_function<std::string>(
      "--allow", [command](const std::string& text) { command->allow = parse_choices(text); },
      "what the plan may do to stay within the budget, separated by commas: keep, recompute, compress, host, "
      "disk, invert, split; all of it if not given");
  plan->add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  add_effort_option(*plan, command->effort);
  add_solver_options(*plan, command->solvers);
  add_text_option(*plan, "--schedule", command->schedule,
                  "write the nodes in order of execution to this file");
  add_text_option(*plan, "--check", command->check,
                  "judge this schedule of a .dag.json instead of searching");
  add_text_option(*plan, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file");
  add_device_option(*plan, command->device,
                    "plan for this device; a GPU need not be there: an H200, unless --machine names another");
  plan->add_option("--disable", command->disable, "passes to leave out, by name");
  add_text_option(*plan, "--dump-after", command->dump_after, "print the draft after this pass");
  add_text_option(*plan, "--output", command->output, "write the plan as JSON to this file");
  plan->add_flag("--passes", command->passes,
                 "how long each pass took, and what each solver did for the budget");
  plan->add_flag("--prices", command->prices,
                 "what a sixteenth more of each memory would save, by quick plans");
  plan->add_option_function<std::string>(
      "--by", [command](const std::string& text) { command->by = parse_axes("--by", text); },
      "the peak of a built-in model as a formula in some of batch, context, width, layers, separated by "
      "commas, each with a range (batch=4:32) or from half its size to twice that");
  plan->add_flag("--print", command->print_graph, "print the graph as planned");
  plan->add_flag("--json", command->json, "the figures as JSON");
  plan->callback([plan, command, &exit_code] { exit_code = run(*plan, *command); });
}

}  // namespace tidemark::cli
