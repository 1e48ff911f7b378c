#include "tidemark/ir/lex.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
constexpr bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; }

}  // namespace

Lexer::Lexer(std::string_view text, std::string_view filename) : text_(text), filename_(intern(filename)) {
  read();
}

Token Lexer::take() {
  const Token taken = token_;
  read();
  return taken;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void Lexer::read() {
  skip_blanks();
  if (at_ == text_.size()) {
    token_ = {TokenKind::end, {}, at_};
    return;
  }
  const std::size_t begin = at_;
  const char c = text_[at_];
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (is_letter(c)) {
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    token_ = {TokenKind::identifier, text_.substr(begin, at_ - begin), begin};
  } else if (is_digit(c) || (c == '-' && is_digit(next))) {
    token_ = read_number();
  } else if (c == '"') {
    token_ = read_string();
  } else if (c == '-' && next == '>') {
    at_ += 2;
    token_ = {TokenKind::punctuation, text_.substr(begin, 2), begin};
  } else if (std::string_view("(){}[],:=@%#-").find(c) != std::string_view::npos) {
    ++at_;
    token_ = {TokenKind::punctuation, text_.substr(begin, 1), begin};
  } else {
    const bool printable = c > ' ' && c < '\x7f';
    fail_at(begin, ErrorCode::syntax,
            {.what = printable ? fmt::format("'{}' has no meaning here", c)
                               : fmt::format("the byte 0x{:02x} has no meaning here",
                                             static_cast<unsigned char>(c))});
  }
}

Token Lexer::read_number() {
  const std::size_t begin = at_;
  bool real = false;
  if (text_[at_] == '-') ++at_;
  const bool hex =
      text_[at_] == '0' && at_ + 1 < text_.size() && (text_[at_ + 1] == 'x' || text_[at_ + 1] == 'X');
  if (hex) at_ += 2;
  const auto digits = [&] {
    while (at_ < text_.size() && (hex ? hex_value(text_[at_]) >= 0 : is_digit(text_[at_]))) ++at_;
  };
  digits();
  if (at_ < text_.size() && text_[at_] == '.') {
    real = true;
    ++at_;
    digits();
  }
  if (at_ < text_.size() && (hex ? (text_[at_] | 0x20) == 'p' : (text_[at_] | 0x20) == 'e')) {
    real = true;
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    const std::size_t exponent = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (exponent == at_) fail_at(begin, ErrorCode::syntax, {.what = "this number has an empty exponent"});
  }
  if (at_ < text_.size() && is_word(text_[at_])) {
    fail_at(at_, ErrorCode::syntax, {.what = fmt::format("'{}' cannot follow a number", text_[at_])});
  }
  return {real ? TokenKind::real : TokenKind::integer, text_.substr(begin, at_ - begin), begin};
}

Token Lexer::read_string() {
  const std::size_t begin = at_++;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] == '\\') {
      const std::string_view escape = text_.substr(at_, 4);
      const bool hex =
          escape.size() == 4 && escape[1] == 'x' && hex_value(escape[2]) >= 0 && hex_value(escape[3]) >= 0;
      const bool plain =
          escape.size() >= 2 && std::string_view("\"\\nt").find(escape[1]) != std::string_view::npos;
      if (!hex && !plain) {
        fail_at(at_, ErrorCode::syntax,
                {.what = "no such escape in a string", .expected = R"(one of \" \\ \n \t \xNN)"});
      }
      at_ += hex ? 4 : 2;
    } else {
      ++at_;
    }
  }
  if (at_ == text_.size() || text_[at_] == '\n') {
    fail_at(begin, ErrorCode::syntax, {.what = "this string does not end on its line"});
  }
  const Token token{TokenKind::string, text_.substr(begin + 1, at_ - begin - 1), begin};
  ++at_;
  return token;
}

SourceLine Lexer::line_of(std::size_t offset) const {
  const auto before = text_.substr(0, offset);
  return {filename_, static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'))};
}

std::string Lexer::excerpt(std::size_t offset) const {
  constexpr std::size_t whole = 120, before = 70,
                        after = 30;  // bytes: of a line shown in full, else around the place
  const std::size_t newline = offset == 0 ? std::string_view::npos : text_.rfind('\n', offset - 1);
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t line_end = std::min(text_.find('\n', offset), text_.size());
  const bool fits = line_end - line_begin <= whole;
  std::size_t begin = fits || offset - line_begin < before ? line_begin : offset - before;
  while (begin > line_begin && begin < offset && continues_code_point(text_[begin])) ++begin;
  std::size_t end = fits ? line_end : std::min(line_end, offset + after);
  while (end > offset && end < text_.size() && continues_code_point(text_[end])) --end;
  std::string shown, padding;
  for (std::size_t i = begin; i < end; ++i) {
    const char c = text_[i];
    shown += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? ' ' : c;
    if (i < offset && !continues_code_point(c)) padding += ' ';
  }
  const auto prefix = text_.substr(line_begin, offset - line_begin);
  const auto column =
      1 + std::count_if(prefix.begin(), prefix.end(), [](char c) { return !continues_code_point(c); });
  const std::string number = std::to_string(line_of(offset).line);
  return fmt::format("{} | {}\n  {} | {}^ column {}", number, shown, std::string(number.size(), ' '), padding,
                     column);
}

void Lexer::fail_at(std::size_t offset, ErrorCode code, ErrorParts parts) const {
  offset = std::min(offset, text_.size());
  parts.where = line_of(offset);
  parts.notes.insert(parts.notes.begin(), excerpt(offset));
  fail(code, std::move(parts));
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), is_word);
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string unquote(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    switch (const char c = raw[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'x':
        out += static_cast<char>(hex_value(raw[i + 1]) * 16 + hex_value(raw[i + 2]));
        i += 2;
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace tidemark
