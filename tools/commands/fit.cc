#include "tools/commands/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/report/infeasible.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/choice_option.h"
#include "tools/options/device_option.h"
#include "tools/options/effort_option.h"
#include "tools/options/model_option.h"
#include "tools/options/number_option.h"
#include "tools/report/graph_search.h"
#include "tools/report/model_changes.h"
#include "tools/report/model_fit.h"
#include "tools/report/print_figures.h"
#include "tools/report/progress.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

struct FitCommand {
  ModelOption model;
  std::string memory_text;
  std::int64_t memory = 0;
  std::vector<TierBudget> tiers;
  EffortOption effort{.text = "quick", .value = Effort::quick};
  DeviceOption device;
  std::string machine;
  bool json = false;
};

Json row_json(const FitRow& row) {
  Json json = {{"size", row.name}, {"given", row.given}};
  for (std::size_t i = 0; i < fit_limits.size(); ++i) {
    const FitAnswer& answer = row.answers[i];
    Json& entry = json[std::string(fit_limits[i].name)] = nullptr;
    if (!answer.plan) continue;
    entry = {{"largest", answer.plan->size},
             {"too_large", answer.too_large ? Json(*answer.too_large) : Json(nullptr)},
             {"peak", answer.plan->peak},
             {"predicted_seconds", answer.plan->seconds},
             {"overhead_percent", 100 * answer.plan->extra_time},
             {"recomputed", answer.plan->recomputed}};
  }
  return json;
}

// "37 (+12.3%)"; a size that the model itself ends at says so.
std::string cell(const FitAnswer& answer, bool with_time) {
  if (!answer.plan) return "none";
  std::string text = fmt::format("{}{}", answer.plan->size, answer.too_large ? "" : " (limit)");
  if (with_time) text += fmt::format(" {:>8}", fmt::format("{:+.1f}%", 100 * answer.plan->extra_time));
  return text;
}

void print_row(const FitRow& row, const std::string& given) {
  fmt::print("{:<14}{:>8}", row.name, given);
  for (std::size_t i = 0; i < fit_limits.size(); ++i)
    fmt::print("{:>{}}", cell(row.answers[i], i > 0), i == 0 ? 18 : 24);
  fmt::print("\n");
}

// The command that shows the first plan of the table; other options are added as they were given.
std::string plan_to_look_at(const FitCommand& command, const std::vector<FitRow>& rows) {
  for (const FitRow& row : rows) {
    const std::optional<FitPlan>& plan = row.answers.back().plan;
    if (!plan) continue;
    return fmt::format("; to see one: tidemark plan {} --{} {} --memory {}", command.model.model, row.name,
                       plan->size, command.memory_text);
  }
  return "";
}

void print_table(const FitCommand& command, const std::vector<FitRow>& rows,
                 const std::optional<FitRow>& micro) {
  fmt::print("the largest {} that fits {}{}, one size changed at a time, the others as given\n\n",
             command.model.model, to_string(Bytes(command.memory)),
             command.device.is_cpu() ? "" : " of a GPU");
  fmt::print("{:<14}{:>8}", "", "given");
  for (std::size_t i = 0; i < fit_limits.size(); ++i)
    fmt::print("{:>{}}", fit_limits[i].title, i == 0 ? 18 : 24);
  fmt::print("\n");
  for (const FitRow& row : rows) print_row(row, fmt::format("{}", row.given));
  const bool cuts = micro && micro->any();
  if (cuts) print_row(*micro, "");
  fmt::print(
      "\nmore time: predicted, next to a step of that size that keeps everything in memory; what does not "
      "fit is "
      "computed again\n");
  if (cuts) {
    fmt::print(
        "micro-batch: the examples of each of {} parts that a batch is computed in, one after the other\n",
        ModelFit::cuts);
  }
  fmt::print("every size is that of a plan which was made and verified{}\n", plan_to_look_at(command, rows));
}

// The error that `plan` gives for the model as it was asked for.
[[noreturn]] void fail_to_fit(const FitCommand& command, PlanOptions options) {
  options.one_round = false;
  options.floor = true;
  const MarkedReads marked(StandIns::exact);
  const Graph traced = command.model.load();
  Graph graph = prepare_graph(traced, {}, nullptr, {}, target_of(options));
  const Result<Plan, Infeasible> result = plan_traced(traced, {}, graph, options);
  TM_CHECK(!result, "a model that no size of fits, fits");
  std::vector<std::string> changes =
      changes_of_model(command.model, {}, options, result.error().smallest.least_seconds);
  options.control->finish();
  if (command.json) {
    const Json json = {{"model", command.model.model},
                       {"fits", false},
                       {"budget", command.memory},
                       {"floor", result.error().smallest.peak()},
                       {"changes", changes}};
    print_figures(json);
    std::fflush(stdout);
  }
  throw InfeasibleBudget(graph, result.error(), {}, std::move(changes));
}

void run(const FitCommand& command) {
  const Stopwatch watch;
  if (command.model.kind() != ModelKind::built_in) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("'{}' is a file, whose sizes are fixed", command.model.model),
          .expected = "a built-in model",
          .help = fmt::format("`tidemark plan {} --memory N` says whether it fits", command.model.model)});
  }
  SearchControl control(planning_control(command.effort.value));
  std::optional<Machine> machine;
  if (!command.machine.empty()) machine = load_machine(command.machine);
  PlanOptions options{.memory = command.memory,
                      .tiers = command.tiers,
                      .machine = machine ? &*machine : nullptr,
                      .effort = command.effort.value.factor,
                      .control = &control,
                      .one_round = true,
                      .floor = false};
  command.device.add_to(options);
  ModelFit fit(command.model, options);
  const std::vector<FitRow> rows = fit.rows();
  const std::optional<FitRow> micro = fit.micro_batches();
  const bool any =
      (micro && micro->any()) || std::ranges::any_of(rows, [](const FitRow& row) { return row.any(); });
  if (!any) fail_to_fit(command, options);
  control.finish();
  if (!command.json) {
    print_table(command, rows, micro);
    fmt::print("planned in {:.1f} s\n", watch.seconds());
    return;
  }
  Json json = {
      {"model", command.model.model}, {"fits", true}, {"budget", command.memory}, {"rows", Json::array()}};
  for (const FitRow& row : rows) json["rows"].push_back(row_json(row));
  json["micro_batch"] = micro ? row_json(*micro) : Json(nullptr);
  json["effort"] = command.effort.text;
  json["seconds"] = watch.seconds();
  print_figures(json);
}

}  // namespace

void add_fit(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<FitCommand>();
  CLI::App* fit =
      app.add_subcommand("fit", "what fits a budget: the largest batch, context, width and depth");
  add_model_options(*fit, command->model);
  fit->get_option("model")->description("the name of a built-in model");
  fit->add_option_function<std::string>(
         "--memory",
         [command](const std::string& text) {
           command->memory_text = text;
           std::erase(command->memory_text, ' ');  // "1.5 GiB" is one word in a command
           command->memory = parse_size("--memory", text);
         },
         "the budget in bytes, such as 24GiB")
      ->required()
      ->type_name("BYTES");
  add_tier_option(*fit, command->tiers);
  add_effort_option(*fit, command->effort);
  add_text_option(*fit, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file")
      ->type_name("FILE")
      ->default_str("a reference machine");
  add_device_option(*fit, command->device,
                    "plan for this device; a GPU need not be there: an H200, unless --machine names another");
  fit->add_flag("--json", command->json, "the figures as JSON");
  describe(*fit,
           {.about = "Finds, by plans, the largest batch, context, width and number of layers of a built-in "
                     "model that fit a budget, one at a time with the others as given: at no extra time, at "
                     "up to 25% more, and at any price.",
            .examples = {{"tidemark fit gpt --memory 200MiB", "what of a small GPT fits 200 MiB"},
                         {"tidemark fit gpt2 --memory 24GiB --device cuda", "the same for a GPU"}},
            .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  fit->callback([command, &exit_code] {
    run(*command);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
