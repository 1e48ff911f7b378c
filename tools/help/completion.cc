#include "tools/help/completion.h"

namespace tidemark::cli {
namespace {

// A shell has a line for it: what comes before the first end of a sentence or part of one.
std::string short_text(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  for (const char* end : {"; ", ": ", ". ", " ("})
    if (const std::size_t at = line.find(end); at != std::string::npos && at > 0) line.resize(at);
  return line;
}

CompletedOption completed(const CLI::Option& option, const CLI::App& app) {
  CompletedOption own{.about = short_text(option.get_description()),
                      .type = type_of(option),
                      .takes_value = takes_value(option),
                      .values = values_of(option, app)};
  for (const std::string& name : option.get_snames()) own.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) own.names.push_back("--" + name);
  return own;
}

CompletedCommand completed(const CLI::App& command, const std::string& name, const CLI::App& app) {
  CompletedCommand own{.name = name, .about = short_text(command.get_description())};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? own.arguments : own.options).push_back(completed(*option, app));
  }
  return own;
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& app) {
  std::vector<CompletedCommand> list = {completed(app, "", app)};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty()) list.push_back(completed(*sub, sub->get_name(), app));
  return list;
}

}  // namespace tidemark::cli
