// `tidemark demo`: trains a small GPT on built-in verse inside a budget and shows that the plan held.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_demo(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
