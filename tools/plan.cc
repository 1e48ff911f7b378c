#include "tools/plan.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tidemark/engine/program.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/plan_json.h"
#include "tools/exit_code.h"
#include "tools/plan_dag.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

struct PlanCommand {
  std::string model;
  std::optional<std::int64_t> batch, context;  // of a built-in model; not given: its own
  std::string dtype, optimizer;
  std::vector<std::string> disable;
  std::string dump_after, output;
  bool json = false, passes = false, print_graph = false;
  std::string memory, effort, schedule, check;
  bool fixed_order = false;
};

bool is_dag(const PlanCommand& command) { return command.model.ends_with(".json"); }

Graph load_graph(const PlanCommand& command) {
  if (const nn::ZooModel* model = nn::find_in_zoo(command.model)) {
    return model->training_step({.batch = command.batch,
                                 .context = command.context,
                                 .dtype = dtype_named(command.dtype),
                                 .optimizer = nn::optimizer_named(command.optimizer)});
  }
  if (std::filesystem::is_regular_file(command.model)) {
    return parse(read_text(command.model), {.find = find_op, .nearest = nearest_op}, command.model);
  }
  std::string names;
  for (const nn::ZooModel& model : nn::zoo())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  fail(ErrorCode::bad_file,
       {.what = fmt::format("'{}' is neither a file nor a built-in model", command.model),
        .expected = fmt::format("a .ir or .dag.json file, or one of {}", names)});
}

void run_plan(const PlanCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const Graph graph = prepare_graph(load_graph(command));
  PlanOptions options{.skip = command.disable};
  if (!command.dump_after.empty()) {
    options.after = [&](std::string_view pass, const Draft& draft) {
      if (pass == command.dump_after) fmt::print("-- after {}\n{}\n", pass, to_text(draft));
    };
  }
  PipelineReport report;
  const Plan plan = make_plan(graph, options, &report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!command.output.empty()) write_text(command.output, to_json(plan) + '\n');
  if (command.json) {
    const nlohmann::json summary = {{"model", command.model},
                                    {"nodes", graph.nodes().size()},
                                    {"steps", plan.steps.size()},
                                    {"peak", plan.peak()},
                                    {"input_bytes", plan.input_bytes},
                                    {"arena_bytes", plan.arena_bytes},
                                    {"lower_bound", plan.lower_bound},
                                    {"store_all_bytes", plan.store_all_bytes},
                                    {"flops", plan.flops},
                                    {"bytes_moved", plan.bytes_moved},
                                    {"seconds", seconds}};
    fmt::print("{}\n", summary.dump(2));
    return;
  }
  if (command.print_graph) fmt::print("{}\n", print(graph));
  fmt::print("{}", summary(graph, plan));
  if (command.passes) {
    fmt::print("\npasses\n");
    for (const PassReport& pass : report.passes) {
      fmt::print("  {:<12} {:>9.1f} ms{}\n", pass.name, 1e3 * pass.seconds, pass.skipped ? "  skipped" : "");
    }
  }
  fmt::print("planned in {:.2f} s\n", seconds);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<PlanCommand>();
  CLI::App* plan = app.add_subcommand("plan", "plan the memory of a graph or a built-in model");
  std::string names;
  for (const nn::ZooModel& model : nn::zoo()) names += fmt::format("\n  {:<12} {}", model.name, model.about);
  plan->footer("Built-in models:" + names);
  plan->add_option("model", command->model, "a .dag.json or .ir file, or the name of a built-in model")
      ->required();
  plan->add_option("--batch", command->batch, "batch size of a built-in model")
      ->check(CLI::Range(1, 1 << 20));
  plan->add_option("--context", command->context,
                   "tokens of a built-in model's examples, pixels of a side, or steps");
  plan->add_option("--dtype", command->dtype, "dtype of a built-in model: f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  plan->add_option("--optimizer", command->optimizer,
                   "of a built-in model's training step; none: gradients only")
      ->check(CLI::IsMember({"none", "sgd", "momentum", "adamw"}));
  plan->add_option("--disable", command->disable, "passes to leave out, by name");
  plan->add_option("--dump-after", command->dump_after, "print the draft after this pass");
  plan->add_option("--output", command->output, "write the plan as JSON to this file");
  plan->add_flag("--passes", command->passes, "how long each pass took");
  plan->add_flag("--print", command->print_graph, "print the graph as planned");
  plan->add_flag("--json", command->json, "the figures as JSON");
  plan->add_option("--memory", command->memory,
                   "budget in bytes (4096, 64MiB, 2GB), or a share of the given order's peak (90%)");
  plan->add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  plan->add_option("--effort", command->effort, "quick, normal, best, or seconds");
  plan->add_option("--schedule", command->schedule, "write the nodes in order of execution to this file");
  plan->add_option("--check", command->check, "judge this schedule of a .dag.json instead of searching");
  plan->callback([command, &exit_code] {
    exit_code = exit_ok;
    if (is_dag(*command)) {
      exit_code = plan_dag({.input = command->model,
                            .memory = command->memory,
                            .effort = command->effort,
                            .schedule = command->schedule,
                            .check = command->check,
                            .fixed_order = command->fixed_order,
                            .json = command->json});
    } else {
      run_plan(*command);
    }
  });
}

}  // namespace tidemark::cli
