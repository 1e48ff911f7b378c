#include "tools/commands/completion.h"

#include <fmt/format.h>

#include <memory>

#include "tools/exit_code.h"
#include "tools/help/completion.h"
#include "tools/help/manual.h"

namespace tidemark::cli {

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* const completion =
      app.add_subcommand("completion", "a script with which bash, zsh or fish complete this command");
  completion->add_option("shell", *shell, "the shell that the script is for")
      ->required()
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(completed_shells), std::end(completed_shells))));
  describe(
      *completion,
      {.about =
           "Prints a script. It completes commands, options, names of models, solvers and passes, and files. "
           "It is made from the same definitions as --help, so it belongs to this version of the command.",
       .examples = {{"source <(tidemark completion bash)", "for this shell"},
                    {"tidemark completion bash > ~/.local/share/bash-completion/completions/tidemark",
                     "for every bash from now on"},
                    {"tidemark completion zsh > ~/.zfunc/_tidemark",
                     "for zsh, with `fpath+=~/.zfunc` in front of `compinit` in ~/.zshrc"},
                    {"tidemark completion fish > ~/.config/fish/completions/tidemark.fish", "for fish"}}});
  completion->callback([&app, shell, &exit_code] {
    fmt::print("{}", *shell == "bash"  ? bash_completion(app)
                     : *shell == "zsh" ? zsh_completion(app)
                                       : fish_completion(app));
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
