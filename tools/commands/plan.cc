#include "tools/commands/plan.h"

#include <fmt/format.h>

#include <memory>

#include "tools/commands/plan_command.h"
#include "tools/help/manual.h"
#include "tools/options/choice_option.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view without_memory = "a plan without --memory", a_graph_file = "a graph in a file";

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
  if (!given.memory) refuse_options(plan, {"--prices"}, without_memory);
  const PlanCommand command = checked_planning(plan, given);
  if (command.lossy) refuse_options(plan, {"--passes"}, "a plan with --lossy");
  if (command.memory)
    refuse_options(plan, {"--by"}, "a plan with --memory, whose peak is the budget at every size");
  if (!command.check.empty())
    refuse_options(plan, {"--solver", "--without", "--passes"}, "a schedule that is only judged");
  switch (command.model.kind()) {
    case ModelKind::dag_file:
      refuse_options(
          plan, {"--batch",      "--context", "--width",   "--layers", "--dtype",  "--optimizer", "--disable",
                 "--dump-after", "--output",  "--machine", "--print",  "--by",     "--tier",      "--disk",
                 "--lossy",      "--split",   "--allow",   "--prices", "--device", "--html"},
          "a graph of costs and bytes");
      if (!command.memory) refuse_options(plan, {"--passes"}, "a graph of costs and bytes without --memory");
      return plan_dag(command);
    case ModelKind::graph_file:
      refuse_options(plan, {"--by"}, a_graph_file);
      break;
    case ModelKind::built_in:
      break;
  }
  refuse_options(plan, {"--check"}, "a graph of operations");
  return plan_graph(command);
}

}  // namespace

PlanCommand checked_planning(const CLI::App& app, const PlanCommand& given) {
  given.disk.check();
  if (!given.memory)
    refuse_options(app, {"--solver", "--without", "--tier", "--disk", "--lossy", "--allow"}, without_memory);
  if (!given.device.is_cpu())
    refuse_options(app, {"--disk", "--disk-memory"}, "a GPU: give --tier disk=20GiB");
  PlanCommand command = as_allowed(given);
  if (!command.memory && command.split_automatically)
    refuse_options(app, {"--split"}, "a plan without --memory, where nothing asks for micro-batches");
  if (command.model.kind() == ModelKind::graph_file)
    refuse_options(
        app, {"--batch", "--context", "--width", "--layers", "--dtype", "--optimizer", "--lossy", "--split"},
        a_graph_file);
  return command;
}

void add_planning_options(CLI::App& app, const std::shared_ptr<PlanCommand>& command) {
  add_model_options(app, command->model);
  app.add_option_function<std::string>(
         "--memory", [command](const std::string& text) { command->memory = Budget::parse(text); },
         "the budget: bytes (4096, 64MiB, 2GB), or a share of the peak without one (90%)")
      ->type_name("BYTES|SHARE%")
      ->default_str("the least memory at no extra time");
  add_tier_option(app, command->tiers);
  add_disk_options(app, command->disk);
  add_lossy_option(app, command->lossy);
  app.add_option_function<std::string>(
         "--split",
         [command](const std::string& text) {
           command->split_automatically = text == "automatic";
           if (!command->split_automatically)
             command->model.split = parse_count("--split", text, {1, 1 << 20});
         },
         "compute the batch of a built-in model in so many micro-batches; automatic: as many as are fastest "
         "within the budget")
      ->type_name("automatic|N")
      ->default_str("1");
  app.add_option_function<std::string>(
         "--allow", [command](const std::string& text) { command->allow = parse_choices(text); },
         "what the plan may do to stay within the budget, separated by commas; keep: nothing")
      ->type_name(choices_type())
      ->default_str("all that the other options provide for");
  app.add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  add_effort_option(app, command->effort);
  add_solver_options(app, command->solvers);
  add_text_option(app, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file")
      ->type_name("FILE")
      ->default_str("a reference machine");
  add_device_option(app, command->device,
                    "plan for this device; a GPU need not be there: an H200, unless --machine names another");
  app.add_option("--disable", command->disable, "passes to leave out, by name")
      ->type_name("PASS")
      ->default_str("none");
  app.add_flag("--json", command->json, "the figures as JSON");
}

void add_plan(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<PlanCommand>();
  CLI::App* plan = app.add_subcommand("plan", "plan the memory of a graph or a built-in model");
  add_planning_options(*plan, command);
  add_text_option(
      *plan, "--schedule", command->schedule,
      "write the indices of the nodes in order of execution, recomputations included, to this file")
      ->type_name("FILE")
      ->default_str("none");
  add_text_option(*plan, "--check", command->check, "judge this schedule of a .dag.json instead of searching")
      ->type_name("FILE")
      ->default_str("none");
  add_text_option(*plan, "--dump-after", command->dump_after, "print the draft after this pass")
      ->type_name("PASS")
      ->default_str("none");
  add_text_option(*plan, "--output", command->output, "write the plan as JSON to this file")
      ->type_name("FILE")
      ->default_str("none");
  CLI::Option* const html =
      add_text_option(*plan, "--html", command->html, "write a page to explore the plan with to this file")
          ->type_name("FILE")
          ->default_str("none");
  add_count_option(*plan, "--html-plans", command->html_plans, {1, 64},
                   "plans from the smallest to the fastest that the page's slider goes over")
      ->needs(html)
      ->default_str("16; 1 for graphs of more than 4000 nodes");
  plan->add_flag("--passes", command->passes,
                 "how long each pass took, and what each solver did for the budget");
  plan->add_flag("--prices", command->prices,
                 "what a sixteenth more of each memory would save, by quick plans");
  plan->add_option_function<std::string>(
          "--by", [command](const std::string& text) { command->by = parse_axes("--by", text); },
          "the peak of a built-in model as a formula in some of batch, context, width, layers, separated by "
          "commas, each with a range (batch=4:32) or from half its size to twice that")
      ->type_name("SIZES")
      ->default_str("no formula");
  plan->add_flag("--print", command->print_graph, "print the graph as planned");
  describe(*plan,
           {.about = "Finds the least time in which a training step runs within a budget: what is computed "
                     "again, moved, "
                     "compressed or cut into micro-batches, in which order, at which addresses. Nothing is "
                     "run and nothing "
                     "of the model's size is allocated, so a model may be far larger than this machine.\n\n"
                     "An option that can have no effect is refused.",
            .examples = {{"tidemark plan gpt", "the peak, what holds it, and lower bounds"},
                         {"tidemark plan gpt2 --memory 60%", "what 60% of its memory costs in time"},
                         {"tidemark plan gpt2 --batch 64 --memory 8GiB --split automatic --tier disk=40GiB",
                          "with micro-batches and a disk"},
                         {"tidemark plan graph.ir --memory 64MiB --output plan.json",
                          "a graph of your own; the plan as a file"},
                         {"tidemark plan step.dag.json --memory 90%", "a graph of costs and bytes"}},
            .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  plan->callback([plan, command, &exit_code] { exit_code = run(*plan, *command); });
}

}  // namespace tidemark::cli
