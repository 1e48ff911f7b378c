#include "tidemark/schedule/kinds/binomial_count.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/check.h"

namespace tidemark::schedule {
namespace {

using Wide = unsigned __int128;

std::int64_t scaled(std::int64_t value, std::int64_t times, std::int64_t by) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(value, times, &product)) return product / by;
  return static_cast<std::int64_t>(static_cast<Wide>(value) * static_cast<Wide>(times) /
                                   static_cast<Wide>(by));
}

// C(n, k) or `ceiling`, whichever is less; each partial product is a binomial itself.
Wide binomial(std::int64_t n, std::int64_t k, Wide ceiling) {
  k = std::min(k, n - k);
  if (k < 0) return 0;
  Wide value = 1;
  for (std::int64_t i = 1; i <= k; ++i) {
    value = value * static_cast<Wide>(n - k + i) / static_cast<Wide>(i);
    if (value >= ceiling) return ceiling;
  }
  return value;
}

}  // namespace

std::int64_t longest_segment(std::int64_t slots, std::int64_t repeats, std::int64_t ceiling) {
  return static_cast<std::int64_t>(binomial(slots + repeats, slots, static_cast<Wide>(ceiling)));
}

std::int64_t repeats_of(Step length, std::int64_t slots) {
  TM_CHECK(slots >= 1 && length >= 1 && length <= most_steps);
  if (slots >= length) return length > 1 ? 1 : 0;
  if (length == 1) return 0;
  if (slots == 1) return length - 1;
  if (slots == 2) {  // (r+1)(r+2)/2 ≥ length
    auto r = static_cast<std::int64_t>(std::sqrt(2.0 * static_cast<double>(length)));
    while (r * (r + 1) / 2 >= length) --r;
    while ((r + 1) * (r + 2) / 2 < length) ++r;
    return r;
  }
  std::int64_t low = 0, high = 1;  // low does not suffice
  while (longest_segment(slots, high, length) < length) low = high, high *= 2;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (longest_segment(slots, middle, length) < length ? low : high) = middle;
  }
  return high;
}

Step least_advances(Step length, std::int64_t slots) {
  if (length == 1) return 0;
  slots = std::min(slots, length - 1);
  if (slots == 1 && length <= 3'000'000'000) return length * (length - 1) / 2;
  const std::int64_t r = repeats_of(length, slots);
  const Wide product = static_cast<Wide>(r) * static_cast<Wide>(length);
  const Wide advances = product - binomial(slots + r, slots + 1, product);
  constexpr auto most = std::numeric_limits<Step>::max();
  return advances <= static_cast<Wide>(most) ? static_cast<Step>(advances) : -1;
}

// With r = repeats: the left part may have C(s+r−2, s) to C(s+r−1, s) steps and the right one C(s+r−2, s−1)
// to C(s+r−1, s−1), by convexity; all choices cost the same. The longest left part makes one of the two a
// whole binomial tree, which stores_of relies on.
BinomialSplit split_segment(Step length, std::int64_t slots, std::int64_t repeats, std::int64_t shorter) {
  BinomialSplit split;
  split.right_shorter = scaled(shorter, slots, slots + repeats - 1);
  split.left_shorter = shorter - split.right_shorter;
  split.left = std::min(shorter, length - split.right_shorter);
  return split;
}

std::int64_t stores_of(Step length, std::int64_t slots) {
  if (length == 1) return 0;
  slots = std::min(slots, length - 1);
  std::int64_t repeats = repeats_of(length, slots);
  std::int64_t shorter = longest_segment(slots, repeats - 1, length);
  // A whole tree C(s+r, s) has C(s+r, s) − 1 splits, of which C(s+r−1, s) at one slot, where the right part
  // is one step and not stored.
  const auto of_whole = [length](std::int64_t s, std::int64_t r) {
    return s == 0 ? 0 : longest_segment(s - 1, r, length) - 1;
  };
  std::int64_t stores = 1;
  while (length > 1 && slots > 1) {
    if (repeats == 1) return stores + length - 2;
    const BinomialSplit split = split_segment(length, slots, repeats, shorter);
    const Step right = length - split.left;
    if (right > 1) ++stores;
    if (split.left == shorter) {
      stores += of_whole(slots, repeats - 1);
      length = right, slots -= 1, shorter = split.right_shorter;
    } else {
      stores += of_whole(slots - 1, repeats - 1);
      length = split.left, repeats -= 1, shorter = split.left_shorter;
    }
  }
  return stores;
}

}  // namespace tidemark::schedule
