#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/help/completion.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view fish_head = R"(# fish completion of tidemark, made by `tidemark completion fish`.
# To have it in every shell: tidemark completion fish > ~/.config/fish/completions/tidemark.fish

complete -c tidemark -f
)";

// Inside of '…'.
std::string fish_text(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  return safe;
}

// What stands for the value: words, and files where they may be.
std::string fish_values(const OptionValues& values) {
  std::string text = values.files ? " -F" : "";
  std::string words = fmt::format("{}", fmt::join(values.words, " "));
  if (values.folders) words += (words.empty() ? "" : " ") + std::string("(__fish_complete_directories)");
  if (!words.empty()) text += fmt::format(" -a '{}'", fish_text(words));
  return text;
}

std::string fish_option(const CompletedOption& option, const std::string& when) {
  std::string text = "complete -c tidemark" + when;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) text += (option.values.files ? " -r" : " -x") + fish_values(option.values);
  return text + fmt::format(" -d '{}'\n", fish_text(option.about));
}

}  // namespace

std::string fish_completion(const CLI::App& app) {
  std::string text(fish_head);
  for (const CompletedCommand& command : completed_commands(app)) {
    const std::string when = command.name.empty()
                                 ? std::string(" -n __fish_use_subcommand")
                                 : fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.name.empty())
      text += fmt::format("complete -c tidemark -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          fish_text(command.about));
    for (const CompletedOption& option : command.options) text += fish_option(option, when);
    for (const CompletedOption& argument : command.arguments)
      text += fmt::format("complete -c tidemark{}{}\n", when, fish_values(argument.values));
  }
  return text;
}

}  // namespace tidemark::cli
