// `tidemark fit`: the largest batch, context, width and number of layers that fit a budget.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_fit(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
