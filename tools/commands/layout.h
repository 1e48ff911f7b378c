// `tidemark layout`: packs a table of lifetimes into the smallest arena it can find, or into a given
// capacity.
#pragma once
#include <CLI/CLI.hpp>

namespace tidemark::cli {

// Adds the subcommand. When it runs it sets `exit_code` (tools/exit_code.h); bad input throws Error.
void add_layout(CLI::App& app, int& exit_code);

}  // namespace tidemark::cli
