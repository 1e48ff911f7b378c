// The largest size that fits: found by doubling and bisection over whatever is asked of a size, such as a
// plan within a budget.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

namespace tidemark {

struct SizeSearch {
  std::int64_t least = 1, most = 1, step = 1;  // `least` and `most` are multiples of `step`
  std::int64_t start = 1;                      // looked at first

  // Sizes are told apart to a 32nd: by multiples of the largest power of two of steps below that.
  std::int64_t grain(std::int64_t size) const;
};

struct LargestSize {
  std::optional<std::int64_t> fits;       // none: not even the least
  std::optional<std::int64_t> too_large;  // the smallest that was seen not to fit beyond it; none: the limit
};

// Where sizes that fit lie beyond one that does not, as when a search is luckier there, the search goes on
// from those: a size an eighth beyond is tried before it ends.
LargestSize largest_size(const SizeSearch& search, const std::function<bool(std::int64_t)>& fits);

}  // namespace tidemark
