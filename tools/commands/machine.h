// `tidemark machine`: measures this machine's rates and writes them as JSON, for planning here or elsewhere.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_machine(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
