// `tidemark ops`: the table of operations with their facts.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_ops(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
