#include "tools/options/number_option.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tidemark/base/bytes.h"

namespace tidemark::cli {
namespace {

[[noreturn]] void reject(std::string_view option, std::string_view text, std::string_view why,
                         std::string expected, ErrorCode code) {
  fail(code, {.what = fmt::format("{} '{}': {}", option, text.substr(0, 60), why),
              .expected = std::move(expected)});
}

}  // namespace

double parse_number(std::string_view option, std::string_view text, ErrorCode code) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool read = status == std::errc() && end == text.data() + text.size();
  if (!read || !std::isfinite(value))
    reject(option, text, "not a number", "a number, as 1000, 0.5 or 1e6", code);
  return value;
}

std::int64_t parse_count(std::string_view option, std::string_view text, ErrorCode code) {
  std::int64_t whole = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (status == std::errc() && end == text.data() + text.size()) return whole;
  const double value = parse_number(option, text, code);
  if (std::abs(value) > 9e15) reject(option, text, "too large", "at most 1e12", code);
  if (value != std::floor(value))
    reject(option, text, "not a whole number", "a whole number, as 1000 or 1e6", code);
  return static_cast<std::int64_t>(value);
}

std::int64_t parse_count(std::string_view option, std::string_view text, CountRange range) {
  const std::int64_t count = parse_count(option, text);
  if (range.least <= count && count <= range.most) return count;
  reject(option, text, "out of range", fmt::format("{} to {}", range.least, range.most),
         ErrorCode::bad_plan_option);
}

std::int64_t parse_size(std::string_view option, std::string_view text, ErrorCode code) {
  try {
    return parse_bytes(text).count;
  } catch (const Error& error) {
    fail(code,
         {.what = fmt::format("{}: {}", option, error.parts().what), .expected = error.parts().expected});
  }
}

double parse_seconds(std::string_view option, std::string_view text) {
  const double seconds = parse_number(option, text);
  if (seconds < 0) reject(option, text, "below zero", "seconds, as 10 or 0.5", ErrorCode::bad_plan_option);
  return seconds;
}

CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& text,
                             const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [name, &text](const std::string& given) {
            if (given.empty())
              reject(name, given, "empty", "leave it out, or name something", ErrorCode::bad_plan_option);
            text = given;
          },
          help)
      ->type_name("TEXT");
}

}  // namespace tidemark::cli
