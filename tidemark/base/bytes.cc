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
  double factor;
};
constexpr std::array<Unit, 14> units = {{{"", 1},
                                         {"B", 1},
                                         {"KiB", 1024.0},
                                         {"MiB", 1048576.0},
                                         {"GiB", 1073741824.0},
                                         {"TiB", 1099511627776.0},
                                         {"K", 1024.0},
                                         {"M", 1048576.0},
                                         {"G", 1073741824.0},
                                         {"T", 1099511627776.0},
                                         {"kB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12}}};

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
  double amount = 0;
  const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), amount);
  if (status != std::errc() || !std::isfinite(amount)) reject(text, "it has no number in front");
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != rest) continue;
    const double total = amount * unit.factor;
    if (total >= 9.2233720368547758e18) reject(text, "it does not fit 63 bits");
    return Bytes(static_cast<std::int64_t>(total));
  }
  reject(text, fmt::format("'{}' is no unit", rest));
}

}  // namespace tidemark
