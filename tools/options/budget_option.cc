#include "tools/options/budget_option.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t per_cent = 1'000'000;

constexpr std::string_view expected = "bytes, as 4096, 64MiB, 1.5GiB or 2GB, or a share of the peak, as 90%";

[[noreturn]] void reject(std::string_view text, std::string_view why, std::string help = "") {
  fail(ErrorCode::bad_plan_option,
       {.what = fmt::format("--memory {}: {}", text.substr(0, 60), why),
        .expected = "bytes, as 4096, 64MiB, 1.5GiB or 2GB, or a share of the peak, as 90%",
        .help = std::move(help)});
}

std::int64_t parse_share(std::string_view text) {
  std::string_view number = text.substr(0, text.size() - 1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  double percent = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (status != std::errc() || end != number.data() + number.size() || !std::isfinite(percent))
    reject(text, "not a number of percent");
  if (percent > 1e6) reject(text, "more than 1000000%");
  const double share = std::round(percent * per_cent);
  if (share <= 0) reject(text, "a budget is more than nothing");
  return static_cast<std::int64_t>(share);
}

}  // namespace

Budget Budget::parse(std::string_view text) {
  Budget budget;
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.ends_with('%')) {
    budget.share_ = parse_share(text);
    return budget;
  }
  try {
    budget.bytes_ = parse_bytes(text).count;
  } catch (const Error& error) {
    fail(ErrorCode::bad_plan_option,
         {.what = "--memory: " + error.parts().what, .expected = std::string(expected)});
  }
  if (budget.bytes_ <= 0) {
    const bool fraction = text.find_first_of("123456789") != std::string_view::npos;  // 0.9, for instance
    reject(text, "a budget is more than nothing", fraction ? "a share of the peak is given in percent" : "");
  }
  return budget;
}

std::int64_t Budget::bytes(std::int64_t peak) const {
  if (!relative()) return bytes_;
  const __int128 product = static_cast<__int128>(peak) * share_ / (100 * per_cent);
  if (product > std::numeric_limits<std::int64_t>::max())
    reject(fmt::format("{}%", static_cast<double>(share_) / per_cent), "does not fit 63 bits");
  if (product < 1) reject(fmt::format("{}%", static_cast<double>(share_) / per_cent), "less than a byte");
  return static_cast<std::int64_t>(product);
}

}  // namespace tidemark::cli
