// The value of --effort: how long the searches may go on.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::cli {

struct Effort {
  std::string name = "normal";         // as given
  double scale = 1;                    // of the work units of `normal`
  std::optional<double> seconds = {};  // instead: stop with the best found by then
};

// "quick", "normal", "best", or a number of seconds above 0. Throws Error on anything else.
Effort parse_effort(std::string_view text);

void add_effort_option(CLI::App& command, Effort& effort);

}  // namespace tidemark::cli
