// The value of --effort: how long the searches may go on.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "tidemark/base/effort.h"

namespace tidemark::cli {

struct EffortOption {
  std::string text = "normal";  // as given
  Effort value = {};
};

// "quick", "normal", "best", or a number of seconds above 0. Throws Error on anything else.
Effort parse_effort(std::string_view text);

void add_effort_option(CLI::App& command, EffortOption& effort);

}  // namespace tidemark::cli
