#include "tidemark/plan/report/largest_size.h"

#include <algorithm>
#include <bit>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

class Bisection {
 public:
  Bisection(const SizeSearch& search, const std::function<bool(std::int64_t)>& fits)
      : search_(search), fits_(fits) {}

  LargestSize run() {
    if (!find_any()) return {};
    constexpr int most_rounds = 3;
    for (int round = 0; round < most_rounds; ++round) {
      double_up();
      narrow();
      if (!found_.too_large || !one_beyond_fits()) break;
    }
    return found_;
  }

 private:
  std::int64_t rounded(std::int64_t size, std::int64_t to) const {
    return std::clamp(size / to * to, search_.least, search_.most);
  }

  bool find_any() {
    std::int64_t size = rounded(search_.start, search_.step);
    while (!fits_(size)) {
      found_.too_large = size;
      if (size == search_.least) return false;
      size = rounded(size / 2, search_.step);
    }
    found_.fits = size;
    return true;
  }
  void double_up() {
    while (!found_.too_large && *found_.fits < search_.most) {
      const std::int64_t size = rounded(2 * *found_.fits, search_.step);
      if (fits_(size)) {
        found_.fits = size;
      } else {
        found_.too_large = size;
      }
    }
  }
  void narrow() {
    while (found_.too_large) {
      const std::int64_t low = *found_.fits, high = *found_.too_large, grain = search_.grain(low);
      if (high - low <= grain) return;
      std::int64_t middle = rounded(low + (high - low) / 2, grain);
      if (middle <= low) middle = rounded(low + (high - low) / 2, search_.step);
      if (fits_(middle)) {
        found_.fits = middle;
      } else {
        found_.too_large = middle;
      }
    }
  }
  bool one_beyond_fits() {
    const std::int64_t beyond =
        rounded(*found_.too_large + std::max(search_.step, *found_.too_large / 8), search_.step);
    if (beyond <= *found_.too_large || !fits_(beyond)) return false;
    found_ = {.fits = beyond, .too_large = {}};
    return true;
  }

  const SizeSearch& search_;
  const std::function<bool(std::int64_t)>& fits_;
  LargestSize found_;
};

}  // namespace

std::int64_t SizeSearch::grain(std::int64_t size) const {
  const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, size / 32 / step));
  return step * static_cast<std::int64_t>(std::bit_floor(steps));
}

LargestSize largest_size(const SizeSearch& search, const std::function<bool(std::int64_t)>& fits) {
  TM_CHECK(search.step > 0 && search.least > 0 && search.least <= search.most);
  return Bisection(search, fits).run();
}

}  // namespace tidemark
