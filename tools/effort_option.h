// The value of --effort: how long the searches may go on.
#pragma once
#include <optional>
#include <string_view>

namespace tidemark::cli {

struct Effort {
  double scale = 1;                    // of the work units of `normal`
  std::optional<double> seconds = {};  // instead: stop with the best found by then
};

// "quick", "normal", "best", or a number of seconds above 0. Throws Error on anything else.
Effort parse_effort(std::string_view text);

}  // namespace tidemark::cli
