#include "tidemark/base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 15> units = {{{"", 1},
                                         {"B", 1},
                                         {"KiB", std::int64_t{1} << 10},
                                         {"MiB", std::int64_t{1} << 20},
                                         {"GiB", std::int64_t{1} << 30},
                                         {"TiB", std::int64_t{1} << 40},
                                         {"K", std::int64_t{1} << 10},
                                         {"M", std::int64_t{1} << 20},
                                         {"G", std::int64_t{1} << 30},
                                         {"T", std::int64_t{1} << 40},
                                         {"kB", 1'000},
                                         {"KB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000}}};

[[noreturn]] void reject(std::string_view text, std::string why) {
  fail(ErrorCode::bad_attribute, {.what = fmt::format("'{}' is not a number of bytes: {}", text, why),
                                  .expected = "a number and a unit, such as 4096, 64MiB, 1.5GiB or 2GB"});
}

}  // namespace

std::string to_string(Bytes bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (std::abs(amount) >= 1024.0 && unit + 1 < names.size()) amount /= 1024.0, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes.count) : fmt::format("{:.2f} {}", amount, names[unit]);
}

Bytes parse_bytes(std::string_view text) {
  std::string_view rest = text;
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front()))) rest.remove_prefix(1);
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back()))) rest.remove_suffix(1);
  if (!rest.empty() && rest.front() == '-') reject(text, "it is negative");
  const char* const begin = rest.data();
  double amount = 0;
  const auto [end, status] = std::from_chars(begin, begin + rest.size(), amount);
  if (status == std::errc::result_out_of_range) reject(text, "it does not fit 63 bits");
  if (status != std::errc() || !std::isfinite(amount)) reject(text, "it has no number in front");
  std::int64_t whole = 0;  // a double would round beyond 2^53
  const auto [whole_end, whole_status] = std::from_chars(begin, begin + rest.size(), whole);
  const bool is_whole = whole_end == end;
  rest.remove_prefix(static_cast<std::size_t>(end - begin));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != rest) continue;
    const double total = amount * static_cast<double>(unit.factor);
    std::int64_t count = 0;
    const bool fits = is_whole
                          ? whole_status == std::errc() && !__builtin_mul_overflow(whole, unit.factor, &count)
                          : total < 9.2233720368547758e18;
    if (!fits) reject(text, "it does not fit 63 bits");
    const bool fraction = unit.factor == 1 ? total != std::floor(total) : total < 1 && total > 0;
    if (fraction) reject(text, "it is a fraction of a byte");
    return Bytes(is_whole ? count : static_cast<std::int64_t>(total));
  }
  reject(text, fmt::format("'{}' is no unit", rest));
}

}  // namespace tidemark
