// What a checked tape (TapeOptions::check) knows besides: the line of each statement, what was forgotten by
// rewinding, and what it found.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/base/source.h"
#include "tidemark/scalar/record.h"

namespace tidemark::scalars {

struct Finding {
  enum class Kind : std::uint8_t {
    nan_slope,       // a partial derivative is NaN
    infinite_slope,  // or infinite
    nan_adjoint,     // what a reversal adds up is NaN or infinite
    unused_input,    // no result depends on it, or by slopes of zero alone
    passive_result,  // a result that depends on no input
  };
  Kind kind = Kind::nan_slope;
  SourceLine where;
  std::string text;  // with the line in it
};

class Checks {
 public:
  // Of the statement that comes next; of x += … only the line of one before it is known.
  void expect(Id index, const SourceLine& where);
  // Indices from `begin` on, up to `end`, are of statements that were forgotten.
  void forget(Id begin, Id end);
  bool forgotten(Id index) const;

  const SourceLine& line(Id index) const;
  std::string text_of_line(Id index) const;  // "at heat.cpp:41", "at or after heat.cpp:41", "somewhere"
  Id expected() const { return expected_; }

  // Once for each kind and line, and not more than a few.
  void find(Finding::Kind kind, Id index, const std::string& what);
  void find(Finding::Kind kind, const SourceLine& where, const std::string& what, const std::string& line);
  const std::vector<Finding>& findings() const { return findings_; }

  std::size_t bytes() const;
  void clear();

  // Of the last look at a recording: its end, so that what was written since is known.
  const void* recording = nullptr;
  Id looked_at = 0;

 private:
  static constexpr std::uint32_t inexact = std::uint32_t{1} << 31;
  static constexpr std::size_t most_findings = 64;
  struct Range {
    Id begin = 0, end = 0;
  };

  std::vector<SourceLine> table_ = {SourceLine()};
  std::vector<std::uint32_t> lines_;  // by index, into the table
  std::uint32_t last_ = 0;
  Id expected_ = 0;
  std::vector<Range> forgotten_;  // ascending
  std::vector<Finding> findings_;
};

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::Finding;
}  // namespace tidemark
