// `tidemark help [COMMAND]`: what `--help` says, as a command of its own.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_help(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
