#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/help/completion.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view zsh_head = R"(#compdef tidemark
# zsh completion of tidemark, made by `tidemark completion zsh`.
# To have it in every shell: tidemark completion zsh > a file _tidemark in a folder of $fpath

_tidemark() {
  local context state state_descr line
  typeset -A opt_args
)";

constexpr std::string_view zsh_tail = R"(      esac ;;
  esac
}

if [[ $funcstack[1] == _tidemark ]]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
)";

// Inside of '…', where [, ] and : have a meaning of their own.
std::string zsh_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'')
      safe += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      safe += fmt::format("\\{}", c);
    else
      safe += c;
  }
  return safe;
}

// What _arguments is to do for a value.
std::string zsh_action(const CompletedOption& option) {
  const OptionValues& values = option.values;
  const std::string words = fmt::format("{}", fmt::join(values.words, " ")),
                    path = values.folders ? "_files -/" : "_files";
  const bool paths = values.files || values.folders;
  if (values.list) return fmt::format("_values -s , value {}", words);
  if (paths && !words.empty())
    return fmt::format("{{_alternative \"names:name:({})\" \"files:file:{}\"}}", words, path);
  if (paths) return path;
  return words.empty() ? " " : fmt::format("({})", words);
}

std::string zsh_specs(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options)
    for (const std::string& name : option.names) {
      const std::string value =
          option.takes_value ? fmt::format(":{}:{}", zsh_text(option.type), zsh_action(option)) : "";
      const char* const sign = !option.takes_value ? "" : name.starts_with("--") ? "=" : "+";
      text += fmt::format(" \\\n            '*{}{}[{}]{}'", name, sign, zsh_text(option.about), value);
    }
  int place = 0;
  for (const CompletedOption& argument : command.arguments)
    text +=
        fmt::format(" \\\n            '{}:{}:{}'", ++place, zsh_text(argument.type), zsh_action(argument));
  return text;
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  const std::vector<CompletedCommand> commands = completed_commands(app);
  std::string names, cases;
  for (const CompletedCommand& command : commands) {
    if (command.name.empty()) continue;
    names += fmt::format("        '{}:{}'\n", command.name, zsh_text(command.about));
    cases += fmt::format("        {})\n          _arguments{} ;;\n", command.name, zsh_specs(command));
  }
  return std::string(zsh_head) +
         fmt::format("  _arguments -C{} \\\n            '1:command:->command' '*::argument:->arguments'\n",
                     zsh_specs(commands.front())) +
         fmt::format("  case $state in\n    command)\n      local -a commands=(\n{}      )\n", names) +
         "      _describe -t commands command commands ;;\n    arguments)\n      case $words[1] in\n" +
         cases + std::string(zsh_tail);
}

}  // namespace tidemark::cli
