// The parts of the text form that are not graph: types, numbers, attribute values, literals.
#pragma once
#include "tidemark/base/attrs.h"
#include "tidemark/ir/lex.h"
#include "tidemark/ir/type.h"

namespace tidemark {

[[noreturn]] void fail_expected(const Lexer& lexer, std::string_view expected);
Token expect(Lexer& lexer, std::string_view punctuation_or_word);
bool accept(Lexer& lexer, std::string_view punctuation_or_word);

std::string parse_name(Lexer& lexer, std::string_view what);  // an identifier or a quoted string
std::int64_t parse_integer(Lexer& lexer, std::int64_t low, std::int64_t high);
Type parse_type(Lexer& lexer);
// A value of the kind `like` holds.
AttrValue parse_attr(Lexer& lexer, const AttrValue& like);

}  // namespace tidemark
