// `tidemark explain`: what became of each large value of a plan, and what else could have.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_explain(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
