#include "tools/commands/help.h"

#include <fmt/format.h>

#include <memory>

#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/help/unknown_words.h"

namespace tidemark::cli {

void add_help(CLI::App& app, int& exit_code) {
  auto name = std::make_shared<std::string>();
  CLI::App* const help = app.add_subcommand("help", "what a command does, with its options and examples");
  help->add_option("command", *name, "the command; without one, a list of all of them")->type_name("COMMAND");
  describe(*help, {.about = "The same as --help behind the command.",
                   .examples = {{"tidemark help plan", "all about `tidemark plan`"}},
                   .exits = {exit_ok, exit_failure, exit_usage}});
  help->callback([&app, name, &exit_code] {
    if (name->empty()) {
      fmt::print("{}", app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
      exit_code = exit_ok;
      return;
    }
    const char* const words[] = {"tidemark", name->c_str()};
    if (const auto unknown = unknown_command(app, 2, words)) {
      fmt::print(stderr, "{}", *unknown);
      exit_code = exit_usage;
      return;
    }
    fmt::print("{}", app.get_subcommand(*name)->help(app.get_name()));
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
