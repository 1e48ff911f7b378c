#include "tools/commands/explain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tidemark/engine/explain_plan.h"
#include "tools/commands/plan_command.h"
#include "tools/help/manual.h"
#include "tools/options/number_option.h"
#include "tools/report/model_planning.h"
#include "tools/report/print_figures.h"
#include "tools/report/progress.h"

namespace tidemark::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainCommand {
  std::shared_ptr<PlanCommand> plan = std::make_shared<PlanCommand>();
  ExplainOptions wanted;
};

ExitCode run(const CLI::App& app, const ExplainCommand& given) {
  if (given.plan->model.kind() == ModelKind::dag_file) {
    fail(ErrorCode::bad_plan_option, {.what = "a graph of costs and bytes has no operations to explain",
                                      .expected = "a .ir file or the name of a built-in model",
                                      .help = "`tidemark plan` plans it"});
  }
  const PlanCommand command = checked_planning(app, *given.plan);
  check_options(given.wanted);
  SearchControl control(planning_control(command.effort.value));
  ModelPlanning planning(command, control);
  const Plan plan = planning.plan();
  control.enter("explanation", 0);
  const Explanation explanation = explain_plan(planning.graph(), plan, planning.options(), given.wanted);
  control.finish();
  if (command.json) {
    Json json = {{"model", command.model.model}, {"micro_batches", planning.model().split}};
    json.update(Json::parse(to_json(explanation)));
    json["seconds"] = planning.seconds();
    print_figures(json);
    return exit_ok;
  }
  fmt::print("{}", to_text(explanation));
  fmt::print("\nplanned and explained in {:.2f} s\n", planning.seconds());
  return exit_ok;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<ExplainCommand>();
  CLI::App* explain = app.add_subcommand(
      "explain", "say why each large value is kept, computed again or moved, and what if not");
  add_planning_options(*explain, command->plan);
  add_text_option(*explain, "--match", command->wanted.match,
                  "only values whose name, op, type, line, decision or role matches this regular expression")
      ->type_name("REGEX")
      ->default_str("all");
  explain
      ->add_option_function<std::string>(
          "--top",
          [command](const std::string& text) {
            command->wanted.top = static_cast<std::size_t>(parse_count("--top", text, {0, 1 << 20}));
          },
          "at most so many values, the largest first; 0: all")
      ->type_name("N")
      ->default_str("10");
  explain->add_flag("--force", command->wanted.force,
                    "plan each alternative within the same budget, instead of changing this plan alone");
  describe(
      *explain,
      {.about = "Says of each value that waits for the backward pass, or is large, what became of it in the "
                "plan, what that costs, and how peak and time would change if something else had. Every "
                "alternative is a plan that the verifier has accepted.",
       .examples = {{"tidemark explain gpt --memory 50%", "the ten largest values"},
                    {"tidemark explain gpt --memory 50% --match gelu --top 0", "all values of one kind"},
                    {"tidemark explain gpt --memory 50% --force --top 3",
                     "each alternative planned anew within the budget"}},
       .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  explain->callback([explain, command, &exit_code] { exit_code = run(*explain, *command); });
}

}  // namespace tidemark::cli
