// `tidemark schedule`: what a checkpoint schedule costs, its actions, its picture; and whether a list of
// actions is one.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_schedule(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
