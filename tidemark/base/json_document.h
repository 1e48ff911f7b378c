// A JSON text as it stands: every value with its line, in the order of the text. Lists and objects know where
// they end, so that nothing recurses, however deep a text nests.
//
//   {"a": [1, 2]}      object│ key a │ list │ 1 │ 2 │      an entry of 24 bytes each; strings and the digits of
//                      end: 5        end: 5                fractions lie in one text beside them
//
// JsonReader (json_reader.h) reads it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/error.h"

namespace tidemark {

// What a file should be, for complaints.
struct JsonFileKind {
  std::string_view name;         // begins them, as "plan file"; may be empty
  ErrorCode code;                // what a wrong one throws
  ErrorCode syntax_code = code;  // what a text throws that is no JSON
  std::string_view form = "";    // what is expected of the whole
};

enum class JsonKind : std::uint8_t { null, boolean, integer, fraction, text, list, object, key };
// "a number", for messages.
std::string_view name_of(JsonKind kind);

class JsonDocument {
 public:
  struct Entry {
    JsonKind kind;
    std::uint32_t line;
    std::uint32_t end;        // one past the last entry inside it
    std::uint32_t text_size;  // of a text, a key, a fraction
    std::int64_t payload;     // an integer or a truth value; else where its text begins
  };

  // Throws the kind's error for what is no JSON. `origin` is the file's name, if there is one.
  JsonDocument(std::string_view text, const JsonFileKind& kind, std::string_view origin = "");

  const Entry& operator[](std::uint32_t entry) const { return entries_[entry]; }
  std::string_view text(std::uint32_t entry) const;
  // "/steps/3/out": the way from the root to a value.
  std::string path(std::uint32_t entry) const;
  const JsonFileKind& kind() const { return kind_; }
  SourceLine where(std::uint32_t entry) const { return {file_, entries_[entry].line}; }

 private:
  friend class JsonEvents;
  const JsonFileKind& kind_;
  std::string_view file_;
  std::vector<Entry> entries_;
  std::string texts_;
};

}  // namespace tidemark
