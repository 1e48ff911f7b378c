#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/help/completion.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view bash_head = R"(# bash completion of tidemark, made by `tidemark completion bash`.
# To have it in every shell: tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark

_tidemark_words() { COMPREPLY+=($(compgen -W "$1" -- "$current")); }

# Words behind the last comma; those that are there already come no second time.
_tidemark_list() {
  local before= last=${current##*,} word
  [[ $current == *,* ]] && before=${current%,*},
  for word in $1; do
    [[ $word == "$last"* && ,$before != *,$word,* ]] && COMPREPLY+=("$before$word")
  done
}

_tidemark_files() {
  compopt -o filenames 2>/dev/null
  local path
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
}

_tidemark() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= i
  COMPREPLY=()
  [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}  # --option=value comes as three words
  [[ $current == = ]] && current=
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} != -* ]] && command=${COMP_WORDS[i]} && break
  done
  case $command in
)";

constexpr std::string_view bash_tail = R"(  esac
}
complete -F _tidemark tidemark
)";

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("'{}'", fmt::join(words, " "));
}

// The calls that offer these values; ":" where there is nothing to offer.
std::string offer(const OptionValues& values) {
  std::vector<std::string> calls;
  if (!values.words.empty())
    calls.push_back((values.list ? "_tidemark_list " : "_tidemark_words ") + words_of(values.words));
  if (values.files) calls.push_back("_tidemark_files -f");
  if (values.folders) calls.push_back("_tidemark_files -d");
  return calls.empty() ? ":" : fmt::format("{}", fmt::join(calls, "; "));
}

std::string case_of(const CompletedCommand& command, const std::vector<std::string>& subcommands) {
  std::string text =
      fmt::format("    {})\n      case $previous in\n", command.name.empty() ? "''" : command.name);
  std::vector<std::string> names;
  for (const CompletedOption& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.takes_value)
      text += fmt::format("        {}) {} ;;\n", fmt::join(option.names, "|"), offer(option.values));
  }
  OptionValues arguments{.words = subcommands};
  for (const CompletedOption& argument : command.arguments) {
    arguments.words.insert(arguments.words.end(), argument.values.words.begin(), argument.values.words.end());
    arguments.files |= argument.values.files;
    arguments.folders |= argument.values.folders;
  }
  return text +
         fmt::format(
             "        *) if [[ $current == -* ]]; then _tidemark_words {}; else {}; fi ;;\n      esac ;;\n",
             words_of(names), offer(arguments));
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::vector<CompletedCommand> commands = completed_commands(app);
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands)
    if (!command.name.empty()) names.push_back(command.name);
  std::string text(bash_head);
  for (const CompletedCommand& command : commands)
    text += case_of(command, command.name.empty() ? names : std::vector<std::string>{});
  return text + std::string(bash_tail);
}

}  // namespace tidemark::cli
