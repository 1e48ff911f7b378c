// Scripts with which a shell completes the command: its subcommands, their options, and the values that are
// known: words, names of models, solvers and passes, files and folders. Made from the definitions.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/help/option_values.h"

namespace tidemark::cli {

struct CompletedOption {
  std::vector<std::string> names = {};  // with their dashes
  std::string about, type;
  bool takes_value = false;
  OptionValues values;
};

struct CompletedCommand {
  std::string name, about;
  std::vector<CompletedOption> options = {}, arguments = {};
};

// The command itself, with an empty name, and each subcommand.
std::vector<CompletedCommand> completed_commands(const CLI::App& app);

inline constexpr std::string_view completed_shells[] = {"bash", "zsh", "fish"};

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace tidemark::cli
