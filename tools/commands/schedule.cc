#include "tools/commands/schedule.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tidemark/base/error.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/base/text_stream.h"
#include "tidemark/schedule/action_text.h"
#include "tidemark/schedule/verify.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/number_option.h"
#include "tools/options/schedule_option.h"
#include "tools/report/print_figures.h"
#include "tools/report/schedule_page.h"
#include "tools/report/schedule_report.h"
#include "tools/report/schedule_svg.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

using schedule::Question;
using schedule::Schedule;

struct ScheduleCommand {
  ScheduleOption option;
  std::string actions, svg, html, check;
  bool json = false;
};

ExitCode judge(const ScheduleCommand& command) {
  InputStream in(command.check);
  schedule::ActionReader reader(in, command.check);
  const Question question = command.option.over(reader.question());
  const schedule::Verdict verdict = verify(question, reader);
  if (command.json) print_verdict_json(verdict);
  if (!verdict.fault) {
    if (!command.json) print_verdict(verdict);
    return exit_ok;
  }
  const schedule::Fault& fault = *verdict.fault;
  const std::string action = fault.action ? fmt::format("'{}': ", to_text(*fault.action)) : "";
  fail(fault.over_budget ? ErrorCode::infeasible_budget : ErrorCode::bad_file,
       {.what = fmt::format("not a schedule: {}{}", action, fault.what),
        .where = SourceLine(intern(command.check), static_cast<std::uint32_t>(fault.index + 2))});
}

void write_list(const std::string& path, const Question& question, const Schedule& made) {
  OutputFile file(path);
  OutputStream out(file);
  write_actions(out, question, made);
  file.commit();
}

ExitCode plan(const ScheduleCommand& command) {
  const Stopwatch watch;
  const Question question = command.option.question();
  std::unique_ptr<Schedule> made;
  try {
    made = make_schedule(question);
  } catch (const Error& error) {
    if (command.json && error.code() == ErrorCode::infeasible_budget) {
      const nlohmann::ordered_json json = {
          {"steps", question.steps}, {"fits", false}, {"why", error.parts().what}};
      print_figures(json);
    }
    throw;
  }
  const double seconds = watch.seconds();
  const bool in_bytes = !command.option.state.empty();
  if (!command.actions.empty()) write_list(command.actions, question, *made);
  if (!command.svg.empty()) write_text(command.svg, schedule_svg(*made));
  if (!command.html.empty()) write_text(command.html, schedule_page(*made, in_bytes));
  if (command.json) {
    print_promise_json(question, made->promise(), in_bytes, seconds);
  } else {
    print_promise(question, made->promise(), in_bytes);
  }
  return exit_ok;
}

}  // namespace

void add_schedule(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<ScheduleCommand>();
  CLI::App* const own =
      app.add_subcommand("schedule", "checkpoint schedules of step sequences: cost, actions, picture");
  add_schedule_options(*own, command->option);
  add_text_option(*own, "--actions", command->actions, "write the actions as text to this file")
      ->type_name("FILE")
      ->default_str("none");
  CLI::Option* const svg =
      add_text_option(*own, "--svg", command->svg, "draw step against action to this file")
          ->type_name("FILE")
          ->default_str("none");
  CLI::Option* const html =
      add_text_option(*own, "--html", command->html,
                      "write a page with the staircase, to look at closely, to this file")
          ->type_name("FILE")
          ->default_str("none");
  CLI::Option* const check =
      add_text_option(
          *own, "--check", command->check,
          "verify the list of actions in this file; --slots and its kin replace what its header says")
          ->type_name("FILE")
          ->default_str("none");
  check->excludes("--actions");
  check->excludes(svg);
  check->excludes(html);
  check->excludes("--kind");
  own->add_flag("--json", command->json, "the figures as JSON");
  describe(
      *own,
      {.about =
           "Says what it takes to reverse a sequence of steps, as a gradient of a simulation does, with room "
           "for "
           "only some of its states: the forward steps that are run again, the states held at once, what is "
           "written and read. docs/schedules.md explains the kinds.",
       .examples = {{"tidemark schedule --steps 1000 --slots 10", "the least work with ten states"},
                    {"tidemark schedule --steps 1e6 --memory 1GiB --disk 100GiB --state 8MiB --write-cost "
                     "0,2 --read-cost 0,2",
                     "two levels, of which the second costs two steps for each state"},
                    {"tidemark schedule --steps 60 --slots 5 --actions list.txt --svg steps.svg",
                     "the actions as a list and as a picture"},
                    {"tidemark schedule --check list.txt", "is that list a schedule?"}},
       .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  own->callback(
      [command, &exit_code] { exit_code = command->check.empty() ? plan(*command) : judge(*command); });
}

}  // namespace tidemark::cli
