#include "tools/options/effort_option.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark::cli {

Effort parse_effort(std::string_view text) {
  constexpr double longest = 1e6;  // seconds; eleven days
  if (text == "quick") return Effort::quick;
  if (text == "normal") return Effort::normal;
  if (text == "best") return Effort::best;
  const std::string_view number = text.ends_with('s') ? text.substr(0, text.size() - 1) : text;
  double seconds = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), seconds);
  const bool read = status == std::errc() && end == number.data() + number.size();
  if (!read || !(seconds > 0) || seconds > longest)
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--effort {}: not an effort", text.substr(0, 60)),
          .expected = "quick, normal, best, or a number of seconds such as 10 or 0.5"});
  return std::chrono::duration<double>(seconds);
}

void add_effort_option(CLI::App& command, EffortOption& effort) {
  command
      .add_option_function<std::string>(
          "--effort",
          [&effort](const std::string& text) {
            effort = {text, parse_effort(text)};
          },
          "how hard to search: a share of the normal work, which gives the same answer on every machine, or "
          "a "
          "number of seconds, after which the best found is taken")
      ->type_name("quick|normal|best|SECONDS")
      ->default_str(effort.text);
}

}  // namespace tidemark::cli
