// `tidemark frontier`: time against memory, as a table and a plot.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_frontier(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
