// `tidemark plan`: plans a graph from a file or a built-in model, and shows the plan.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_plan(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
