#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tidemark/ir/lex.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ir/literal_text.h"
#include "tidemark/ir/print.h"

namespace tidemark {
namespace {

// The fewest decimal digits that read back as the same number of T.
template <class T>
std::string shortest(T x) {
  char buffer[64];
  char* end = buffer;
  if constexpr (std::is_floating_point_v<T>) {
    end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  } else {  // stored in 16 bits, read and written by way of float
    constexpr int enough_digits = std::numeric_limits<float>::max_digits10;
    for (int digits = 1; digits <= enough_digits; ++digits) {
      end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(x), std::chars_format::general,
                          digits)
                .ptr;
      float back = 0;
      const auto [stop, status] = std::from_chars(buffer, end, back);
      if (status == std::errc() && stop == end && T(back).bits == x.bits) break;
    }
  }
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string element_text(T element) {
  if constexpr (std::is_same_v<T, bool>) {
    return element ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(element);
  } else {
    using Wide = compute_t<T>;
    const Wide x = static_cast<Wide>(element);
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (!std::isnan(x)) return shortest(element);
    const auto bits = std::bit_cast<bits_t<T>>(element);
    return bits == canonical_nan<T> ? "nan" : fmt::format("nan(0x{:x})", bits);
  }
}

std::string literal_text(const Literal& literal) {
  TM_CHECK(is_well_formed(literal), "a literal of {} holds {} bytes",
           to_string(Type{literal.dtype, literal.shape}), literal.bytes.size());
  const std::string type = to_string(Type{literal.dtype, literal.shape});
  const auto size = static_cast<std::size_t>(size_of(literal.dtype));
  const std::size_t count = literal.bytes.size() / size;
  const auto element = [&](std::size_t i) {
    return dispatch(literal.dtype, [&]<class T>() {
      T value;
      std::memcpy(&value, literal.bytes.data() + i * size, sizeof(T));
      return element_text(value);
    });
  };
  const auto repeats = [&] {  // every element has the bits of the first
    for (std::size_t i = 1; i < count; ++i) {
      if (std::memcmp(literal.bytes.data(), literal.bytes.data() + i * size, size) != 0) return false;
    }
    return true;
  };
  if (count > 0 && literal.bytes.size() <= max_repeated_bytes && repeats())
    return fmt::format("{} {}", type, element(0));
  if (count <= max_listed_elements) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) list += (i ? ", " : "") + element(i);
    return fmt::format("{} [{}]", type, list);
  }
  std::string hex;
  hex.reserve(2 * literal.bytes.size());
  for (std::byte b : literal.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[std::to_integer<int>(b) >> 4];
    hex += digits[std::to_integer<int>(b) & 15];
  }
  return fmt::format("{} hex \"{}\"", type, hex);
}

struct AttrText {
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(std::int64_t n) const { return std::to_string(n); }
  std::string operator()(double x) const { return element_text(x); }
  std::string operator()(const std::string& s) const { return quote(s); }
  std::string operator()(DType t) const { return std::string(name_of(t)); }
  std::string operator()(const Dims& dims) const {
    return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", "));
  }
  std::string operator()(const IntList& list) const { return fmt::format("[{}]", fmt::join(list, ", ")); }
  std::string operator()(const Literal& literal) const { return literal_text(literal); }
};

}  // namespace

std::string print(const AttrValue& value) { return std::visit(AttrText{}, value); }

}  // namespace tidemark
