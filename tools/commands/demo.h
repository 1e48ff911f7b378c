// `tidemark demo`: trains a small network on a built-in data set and shows what its memory plan saves.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

void add_demo(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
