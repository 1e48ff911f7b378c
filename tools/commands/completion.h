// `tidemark completion SHELL`: a script with which a shell completes the command.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_completion(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
