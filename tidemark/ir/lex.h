// Words of the text form of graphs, and errors that show where in the text they are:
//
//   error[TM0501]: expected ',' or ')'
//     --> loss.ir:3
//     3 |   %3 = contract(%x %w) : f32[8, 2]
//       |                    ^ column 20
#pragma once
#include <string>
#include <string_view>

#include "tidemark/base/error.h"

namespace tidemark {

enum class TokenKind : std::uint8_t { end, identifier, integer, real, string, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;   // as written; a string without its quotes, escapes still in place
  std::size_t offset = 0;  // of its first byte

  bool is(std::string_view punctuation_or_word) const {
    return (kind == TokenKind::punctuation || kind == TokenKind::identifier) && text == punctuation_or_word;
  }
};

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view filename);

  const Token& peek() const { return token_; }
  Token take();  // returns the current token and reads the next one

  SourceLine line_of(std::size_t offset) const;
  // Throws with the line of `offset` as place and an excerpt with a caret among the notes.
  [[noreturn]] void fail_at(std::size_t offset, ErrorCode code, ErrorParts parts) const;

 private:
  void read();
  void skip_blanks();
  Token read_number();
  Token read_string();
  std::string excerpt(std::size_t offset) const;

  std::string_view text_;
  std::string_view filename_;  // interned
  std::size_t at_ = 0;
  Token token_;
};

// [A-Za-z_][A-Za-z0-9_.]*: what a name must look like to be written without quotes.
bool is_identifier(std::string_view text);
std::string quote(std::string_view text);  // with quotes and escapes
// The text between the quotes of a string token, escapes resolved. Lexer has already checked the escapes.
std::string unquote(std::string_view raw);

}  // namespace tidemark
