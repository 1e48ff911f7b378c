// Options whose value is a number: read in decimal and to the last character, and held to their range. What
// is no such number is an Error that names option and value, never another number.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tidemark/base/error.h"

namespace tidemark::cli {

// 1000, 1e6 and 2.5e3 are counts; 0.5 is none.
std::int64_t parse_count(std::string_view option, std::string_view text,
                         ErrorCode code = ErrorCode::bad_plan_option);
double parse_number(std::string_view option, std::string_view text,
                    ErrorCode code = ErrorCode::bad_plan_option);  // finite

// Bytes with or without a unit.
std::int64_t parse_size(std::string_view option, std::string_view text,
                        ErrorCode code = ErrorCode::bad_plan_option);

struct CountRange {
  std::int64_t least = 0, most = 0;
};
std::int64_t parse_count(std::string_view option, std::string_view text, CountRange range);
double parse_seconds(std::string_view option, std::string_view text);  // 0 or more

// The number in an option that may be left out.
template <class T>
struct CountOf {
  using type = T;
};
template <class T>
struct CountOf<std::optional<T>> {
  using type = T;
};

template <class Count>
CLI::Option* add_count_option(CLI::App& command, const std::string& name, Count& count, CountRange range,
                              const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [name, range, &count](const std::string& text) {
            count = static_cast<typename CountOf<Count>::type>(parse_count(name, text, range));
          },
          help)
      ->type_name("N");
}

// Names of files, and values that a command reads later: '' is a mistake, not an option that was not given.
CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& text,
                             const std::string& help);

}  // namespace tidemark::cli
