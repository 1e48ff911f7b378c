#include "tidemark/ir/parse_attrs.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "tidemark/ir/limits.h"
#include "tidemark/ir/literal_text.h"

namespace tidemark {
namespace {

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  constexpr std::size_t enough = 40;
  return fmt::format("'{}'{}", token.text.substr(0, enough), token.text.size() > enough ? "…" : "");
}

// The digits of a number token without sign and 0x, and how to read them.
struct Digits {
  std::string_view text;
  bool negative = false, hex = false;
  explicit Digits(std::string_view token) : text(token) {
    if (text.starts_with('-')) negative = true, text.remove_prefix(1);
    if (text.starts_with("0x") || text.starts_with("0X")) hex = true, text.remove_prefix(2);
  }
};

template <class T>
T parse_float(Lexer& lexer) {
  using Wide = compute_t<T>;
  const Token start = lexer.peek();
  const auto too_large = [&] {
    lexer.fail_at(start.offset, ErrorCode::syntax,
                  {.what = fmt::format("{} does not fit {}", shown(start), name_of(dtype_of<T>))});
  };
  bool negative = accept(lexer, "-");
  const Token token = lexer.peek();
  if (token.is("inf")) {
    lexer.take();
    const Wide infinity = std::numeric_limits<Wide>::infinity();
    return T(negative ? -infinity : infinity);
  }
  if (!negative && token.is("nan")) {
    lexer.take();
    if (!accept(lexer, "(")) return std::bit_cast<T>(canonical_nan<T>);
    const Token payload = lexer.peek();
    if (payload.kind != TokenKind::integer) fail_expected(lexer, "the bits of the NaN");
    lexer.take();
    const Digits digits(payload.text);
    bits_t<T> bits = 0;
    const auto [end, status] = std::from_chars(digits.text.data(), digits.text.data() + digits.text.size(),
                                               bits, digits.hex ? 16 : 10);
    if (status != std::errc() || end != digits.text.data() + digits.text.size() || digits.negative ||
        !std::isnan(static_cast<Wide>(std::bit_cast<T>(bits)))) {
      lexer.fail_at(
          payload.offset, ErrorCode::syntax,
          {.what = fmt::format("{} are not the bits of a NaN of {}", shown(payload), name_of(dtype_of<T>))});
    }
    expect(lexer, ")");
    return std::bit_cast<T>(bits);
  }
  if (negative || (token.kind != TokenKind::integer && token.kind != TokenKind::real)) {
    fail_expected(lexer, "a number, inf or nan");
  }
  lexer.take();
  const Digits digits(token.text);
  Wide value = 0;
  const char* const last = digits.text.data() + digits.text.size();
  const auto [end, status] = std::from_chars(
      digits.text.data(), last, value, digits.hex ? std::chars_format::hex : std::chars_format::general);
  if (status != std::errc() || end != last) too_large();
  const T rounded = T(digits.negative ? -value : value);
  if (std::isinf(static_cast<Wide>(rounded))) too_large();
  return rounded;
}

bool parse_bool(Lexer& lexer) {
  const bool value = lexer.peek().is("true");
  if (!value && !lexer.peek().is("false")) fail_expected(lexer, "true or false");
  lexer.take();
  return value;
}

template <class T>
T parse_element(Lexer& lexer) {
  if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(lexer);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(parse_integer(lexer, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    return parse_float<T>(lexer);
  }
}

// The bytes of one hexadecimal string.
void parse_hex(Lexer& lexer, Literal& literal, std::size_t bytes) {
  const Token token = lexer.peek();
  if (token.kind != TokenKind::string) fail_expected(lexer, "a string of hexadecimal bytes");
  lexer.take();
  if (token.text.size() != 2 * bytes) {
    lexer.fail_at(token.offset, ErrorCode::syntax,
                  {.what = fmt::format("{} hexadecimal digits for {} bytes", token.text.size(), bytes)});
  }
  literal.bytes.resize(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned value = 0;
    const char* const first = token.text.data() + 2 * i;
    const auto [end, status] = std::from_chars(first, first + 2, value, 16);
    if (status != std::errc() || end != first + 2 || (literal.dtype == DType::boolean && value > 1)) {
      lexer.fail_at(
          token.offset + 1 + 2 * i, ErrorCode::syntax,
          {.what = fmt::format("'{}' is no byte of {}", std::string_view(first, 2), name_of(literal.dtype))});
    }
    literal.bytes[i] = static_cast<std::byte>(value);
  }
}

Literal parse_literal(Lexer& lexer) {
  const std::size_t start = lexer.peek().offset;
  const Type type = parse_type(lexer);
  Literal literal{.dtype = type.dtype, .shape = type.shape, .bytes = {}};
  const auto bytes = static_cast<std::size_t>(type.bytes());
  if (accept(lexer, "hex")) {
    parse_hex(lexer, literal, bytes);
    return literal;
  }
  dispatch(type.dtype, [&]<class T>() {
    const auto append = [&](T element) {
      std::byte raw[sizeof(T)];
      std::memcpy(raw, &element, sizeof(T));
      literal.bytes.insert(literal.bytes.end(), raw, raw + sizeof(T));
    };
    if (!accept(lexer, "[")) {
      const T element = parse_element<T>(lexer);
      if (bytes > max_repeated_bytes && type.count() > 1) {
        lexer.fail_at(start, ErrorCode::syntax,
                      {.what = fmt::format("one element cannot be repeated to fill {}", to_string(type)),
                       .expected = fmt::format("at most {} bytes", max_repeated_bytes),
                       .help = "broadcast a constant of rank 0 instead"});
      }
      for (std::int64_t i = 0; i < type.count(); ++i) append(element);
      return;
    }
    if (!lexer.peek().is("]")) {
      do {
        append(parse_element<T>(lexer));
      } while (accept(lexer, ","));
    }
    expect(lexer, "]");
    if (literal.bytes.size() != bytes) {
      lexer.fail_at(start, ErrorCode::syntax,
                    {.what = fmt::format("{} elements are given for {}", literal.bytes.size() / sizeof(T),
                                         to_string(type))});
    }
  });
  return literal;
}

IntList parse_list(Lexer& lexer, std::size_t at_most) {
  IntList list;
  expect(lexer, "[");
  if (!lexer.peek().is("]")) {
    do {
      if (list.size() == at_most) {
        lexer.fail_at(
            lexer.peek().offset, ErrorCode::syntax,
            {.what = fmt::format("more than {} entries", at_most), .expected = "a rank of at most 8"});
      }
      list.push_back(parse_integer(lexer, -max_extent, max_extent));
    } while (accept(lexer, ","));
  }
  expect(lexer, "]");
  return list;
}

DType parse_dtype(Lexer& lexer) {
  const std::optional<DType> dtype =
      lexer.peek().kind == TokenKind::identifier ? dtype_named(lexer.peek().text) : std::nullopt;
  if (!dtype) fail_expected(lexer, "a dtype: f32, f64, bf16, f16, i32, i64, u8 or bool");
  lexer.take();
  return *dtype;
}

struct ParseAttr {
  Lexer& lexer;
  AttrValue operator()(bool) const { return parse_bool(lexer); }
  AttrValue operator()(std::int64_t) const { return parse_element<std::int64_t>(lexer); }
  AttrValue operator()(double) const { return parse_float<double>(lexer); }
  AttrValue operator()(const std::string&) const {
    if (lexer.peek().kind != TokenKind::string) fail_expected(lexer, "a string");
    return unquote(lexer.take().text);
  }
  AttrValue operator()(DType) const { return parse_dtype(lexer); }
  AttrValue operator()(const Dims&) const { return Dims(parse_list(lexer, max_rank)); }
  AttrValue operator()(const IntList&) const {
    return parse_list(lexer, std::numeric_limits<std::size_t>::max());
  }
  AttrValue operator()(const Literal&) const { return parse_literal(lexer); }
};

}  // namespace

void fail_expected(const Lexer& lexer, std::string_view expected) {
  lexer.fail_at(
      lexer.peek().offset, ErrorCode::syntax,
      {.what = fmt::format("{} is out of place", shown(lexer.peek())), .expected = std::string(expected)});
}

bool accept(Lexer& lexer, std::string_view punctuation_or_word) {
  if (!lexer.peek().is(punctuation_or_word)) return false;
  lexer.take();
  return true;
}

Token expect(Lexer& lexer, std::string_view punctuation_or_word) {
  if (!lexer.peek().is(punctuation_or_word)) fail_expected(lexer, fmt::format("'{}'", punctuation_or_word));
  return lexer.take();
}

std::string parse_name(Lexer& lexer, std::string_view what) {
  if (lexer.peek().kind == TokenKind::identifier) return std::string(lexer.take().text);
  if (lexer.peek().kind == TokenKind::string) return unquote(lexer.take().text);
  fail_expected(lexer, what);
}

std::int64_t parse_integer(Lexer& lexer, std::int64_t low, std::int64_t high) {
  const Token token = lexer.peek();
  if (token.kind != TokenKind::integer) fail_expected(lexer, "an integer");
  lexer.take();
  const Digits digits(token.text);
  std::uint64_t magnitude = 0;
  const char* const last = digits.text.data() + digits.text.size();
  const auto [end, status] = std::from_chars(digits.text.data(), last, magnitude, digits.hex ? 16 : 10);
  const std::uint64_t most =
      digits.negative ? -static_cast<std::uint64_t>(low) : static_cast<std::uint64_t>(high);
  if (status != std::errc() || end != last || (digits.negative && low >= 0 && magnitude > 0) ||
      magnitude > most) {
    lexer.fail_at(token.offset, ErrorCode::syntax,
                  {.what = fmt::format("{} is out of range", shown(token)),
                   .expected = fmt::format("an integer in [{}, {}]", low, high)});
  }
  return static_cast<std::int64_t>(digits.negative ? -magnitude : magnitude);
}

AttrValue parse_attr(Lexer& lexer, const AttrValue& like) { return std::visit(ParseAttr{lexer}, like); }

Type parse_type(Lexer& lexer) {
  const std::size_t start = lexer.peek().offset;
  Type type;
  type.dtype = parse_dtype(lexer);
  type.shape = Dims(parse_list(lexer, max_rank));
  if (!within_limits(type)) {
    lexer.fail_at(start, ErrorCode::syntax,
                  {.what = "a type with a negative size, or of too many bytes",
                   .expected = fmt::format("sizes of at least 0, at most {} bytes in all", max_value_bytes)});
  }
  return type;
}

}  // namespace tidemark
