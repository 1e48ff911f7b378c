// A line of the user's source. Errors, plans and reports point at these instead of at our own code.
// The file name is a view into storage that lives forever: a string literal of the compiler, or intern()ed
// text.
#pragma once
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace tidemark {

struct SourceLine {
  std::string_view file;
  std::uint32_t line = 0;

  constexpr SourceLine() = default;
  constexpr SourceLine(std::string_view file_name, std::uint32_t line_number)
      : file(file_name), line(line_number) {}
  constexpr SourceLine(const std::source_location& at)
      : file(at.file_name()), line(at.line()) {}  // NOLINT: implicit

  constexpr bool known() const { return !file.empty(); }
  friend constexpr bool operator==(const SourceLine&, const SourceLine&) = default;
};

// The same text, stored once and for the life of the process.
std::string_view intern(std::string_view text);

// "train.cpp:88", with the directories left out; "" when unknown.
std::string short_form(const SourceLine& at);

}  // namespace tidemark
