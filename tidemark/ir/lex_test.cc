#include "tidemark/ir/lex.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  for (Lexer lexer(text, "t.ir"); lexer.peek().kind != TokenKind::end;) list.emplace_back(lexer.take().text);
  return list;
}

TEST(Lexer, CutsTextIntoWords) {
  EXPECT_EQ(words("%a.b_1 = f(%2) // c\n-> -3 -inf"),
            (std::vector<std::string>{"%", "a.b_1", "=", "f", "(", "%", "2", ")", "->", "-3", "-", "inf"}));
}

TEST(Lexer, TellsIntegersFromReals) {
  for (const char* text : {"0", "-12", "0x1F"})
    EXPECT_EQ(Lexer(text, "t").peek().kind, TokenKind::integer) << text;
  for (const char* text : {"0.5", "1e9", "-1E-9", "0x1p-3", "0x1.8p+2", "2."}) {
    EXPECT_EQ(Lexer(text, "t").peek().kind, TokenKind::real) << text;
  }
}

TEST(Lexer, RefusesBrokenWords) {
  for (const char* text :
       {"1e", "12abc", "0x1p", "\"open", "\"a\nb\"", "\"\\q\"", "\"\\x1\"", "$", "\x01", "1.2.3"}) {
    EXPECT_THROW(words(text), Error) << text;
  }
}

TEST(Lexer, QuotedTextReadsBackByteForByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string text = quote(all);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  Lexer lexer(text, "t.ir");
  EXPECT_EQ(unquote(lexer.peek().text), all);
}

TEST(Lexer, ErrorsShowLineColumnAndCaret) {
  Lexer lexer("first\n  second third", "dir/t.ir");
  lexer.take();
  lexer.take();
  try {
    lexer.fail_at(lexer.peek().offset, ErrorCode::syntax, {.what = "no"});
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), SourceLine("dir/t.ir", 2));
    EXPECT_STREQ(error.what(),
                 "error[TM0501]: no\n"
                 "  --> t.ir:2\n"
                 "  2 |   second third\n"
                 "    |          ^ column 10");
    return;
  }
  FAIL();
}

TEST(Lexer, ColumnsCountCharactersNotBytes) {
  const std::string text = "\"\xc3\xa9\xc3\xa9\" $";
  try {
    words(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("^ column 6"), std::string::npos) << error.what();
  }
}

TEST(Lexer, LongLinesAreCutAroundThePlace) {
  try {
    words(std::string(10000, ' ') + "$" + std::string(10000, 'x'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 400u);
    EXPECT_NE(std::string(error.what()).find("^ column 10001"), std::string::npos);
  }
}

TEST(Lexer, KnowsWhichNamesNeedQuotes) {
  for (const char* name : {"x", "_1", "params.w1", "A.0.b"}) EXPECT_TRUE(is_identifier(name)) << name;
  for (const char* name : {"", "1", "a b", "a-b", ".a", "\xc3\xa9"})
    EXPECT_FALSE(is_identifier(name)) << name;
}

}  // namespace
}  // namespace tidemark
