// The inner loop of dynamic programs over splits: the least sum left[i] + right[count − l + i] over 0 ≤ i <
// l, for l growing from 1 to count − 1 while `left` grows upwards with it, and `right` downwards where it is
// not known before.
//
// Most of it is refuted in blocks. For any slope σ a sum is (left[i] − σi) + (right[p] + σp) − σ(p − i), so
// that the least values of the two brackets over a block bound its sums from below. That holds whatever the
// values are: no convexity is assumed. Where both are nearly straight, as they are over long stretches, the
// bound with their common slope is tight.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace tidemark::schedule {

// Above every sum of a table. As a whole number, the sum of seven is still a number.
template <class Value>
constexpr Value infinite() {
  if constexpr (std::is_floating_point_v<Value>) return std::numeric_limits<Value>::infinity();
  return static_cast<Value>(1 << 28);
}

template <class Value>
class LeastSum {
 public:
  struct Found {
    Value sum;
    std::ptrdiff_t index;  // -1: none below the bound
  };

  // `slopes`, ascending, are those at which blocks are bounded; without any, every sum is tried.
  LeastSum(const Value* left, std::size_t count, std::vector<Value> slopes)
      : left_(left),
        count_(count),
        blocks_(count / block + 2),
        slopes_(std::move(slopes)),
        left_least_(slopes_.size() * blocks_),
        right_block_(slopes_.size() * blocks_),
        right_least_(slopes_.size() * blocks_) {}

  // With `right` known throughout, and nothing of left.
  void start_known(const Value* right) {
    right_ = right;
    last_ = 0;
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      Value* const least = right_least_.data() + k * blocks_;
      for (std::size_t b = 0; b * block < count_; ++b) {
        Value lowest = right[b * block] + slopes_[k] * static_cast<Value>(b * block);
        for (std::size_t p = b * block + 1; p < std::min((b + 1) * block, count_); ++p)
          lowest = std::min<Value>(lowest, right[p] + slopes_[k] * static_cast<Value>(p));
        least[b] = lowest;
      }
      // What stands against a block of left lies in two of right.
      for (std::size_t b = 0; (b + 1) * block < count_; ++b) least[b] = std::min(least[b], least[b + 1]);
    }
  }

  // With nothing of either.
  void start(const Value* right, Value infinite) {
    right_ = right;
    last_ = 0;
    std::fill(right_block_.begin(), right_block_.end(), infinite);
    std::fill(right_least_.begin(), right_least_.end(), infinite);
  }

  // right[p] is there now, and all behind it.
  void append_right(std::size_t p) {
    const std::size_t b = p / block;
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      Value& own = right_block_[k * blocks_ + b];
      own = std::min<Value>(own, right_[p] + slopes_[k] * static_cast<Value>(p));
      right_least_[k * blocks_ + b] = std::min(own, right_block_[k * blocks_ + b + 1]);
    }
  }

  // left[i] is there now, and all before it.
  void append_left(std::size_t i) {
    if ((i + 1) % block != 0) return;
    const std::size_t begin = i + 1 - block;
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      Value lowest = left_[begin] - slopes_[k] * static_cast<Value>(begin);
      for (std::size_t j = begin + 1; j <= i; ++j)
        lowest = std::min<Value>(lowest, left_[j] - slopes_[k] * static_cast<Value>(j));
      left_least_[k * blocks_ + begin / block] = lowest;
    }
  }

  // The least sum, if it is below `bound`.
  Found find(std::size_t l, Value bound) {
    const Value* const right = right_ + (count_ - l);
    Found best{bound, -1};
    const auto scan = [&](std::size_t begin, std::size_t end) {
      const Value least = least_of(left_ + begin, right + begin, end - begin);
      if (!(least < best.sum)) return;
      best.sum = least;
      best.index = static_cast<std::ptrdiff_t>(begin);
      while (left_[best.index] + right[best.index] != least) ++best.index;
    };
    if (slopes_.empty()) {
      for (std::size_t begin = 0; begin < l; begin += block) scan(begin, std::min(begin + block, l));
      return best;
    }
    const std::size_t full = l / block;
    if (full * block < l) scan(full * block, l);
    const std::size_t near = std::min(last_, l - 1);  // the best index moves little from l to l
    scan(near, std::min(near + 2, l));
    const std::size_t slope = nearest_slope(near, l);
    const std::size_t offset = count_ - l;
    const Value shift = slopes_[slope] * static_cast<Value>(offset);
    const Value* const left_least = left_least_.data() + slope * blocks_;
    const Value* const right_least = right_least_.data() + slope * blocks_ + offset / block;
    for (std::size_t group = 0; group < full; group += group_size) {
      const std::size_t end = std::min(group + group_size, full);
      if (!(least_of(left_least + group, right_least + group, end - group) - shift < best.sum)) continue;
      for (std::size_t b = group; b < end; ++b) {
        if (left_least[b] + right_least[b] - shift < best.sum) scan(b * block, (b + 1) * block);
      }
    }
    if (best.index >= 0) last_ = static_cast<std::size_t>(best.index);
    return best;
  }

 private:
  static constexpr std::size_t block = 64, group_size = 16;
  static constexpr std::size_t lanes = 16 / sizeof(Value);
  typedef Value Vector __attribute__((vector_size(16)));

  static Vector at(const Value* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static Vector lesser(Vector a, Vector b) { return a < b ? a : b; }

  static Value least_of(const Value* left, const Value* right, std::size_t count) {
    Value least = left[0] + right[0];
    std::size_t j = 0;
    if (count >= 4 * lanes) {
      Vector a = at(left) + at(right), b = a, c = a, d = a;
      for (; j + 4 * lanes <= count; j += 4 * lanes) {
        a = lesser(a, at(left + j) + at(right + j));
        b = lesser(b, at(left + j + lanes) + at(right + j + lanes));
        c = lesser(c, at(left + j + 2 * lanes) + at(right + j + 2 * lanes));
        d = lesser(d, at(left + j + 3 * lanes) + at(right + j + 3 * lanes));
      }
      a = lesser(lesser(a, b), lesser(c, d));
      for (std::size_t i = 0; i < lanes; ++i) least = std::min<Value>(least, a[i]);
    }
    for (; j < count; ++j) least = std::min<Value>(least, left[j] + right[j]);
    return least;
  }

  // Of left around `index`.
  std::size_t nearest_slope(std::size_t index, std::size_t l) const {
    const std::size_t low = index >= block ? index - block : 0, high = std::min(index + block, l - 1);
    if (high == low) return 0;
    const double slope = static_cast<double>(left_[high] - left_[low]) / static_cast<double>(high - low);
    const auto above = std::lower_bound(slopes_.begin(), slopes_.end(), slope,
                                        [](Value a, double b) { return static_cast<double>(a) < b; });
    if (above == slopes_.begin()) return 0;
    const auto k = static_cast<std::size_t>(above - slopes_.begin());
    if (above == slopes_.end()) return k - 1;
    return slope - static_cast<double>(slopes_[k - 1]) < static_cast<double>(slopes_[k]) - slope ? k - 1 : k;
  }

  const Value* left_;
  const Value* right_ = nullptr;
  std::size_t count_, blocks_, last_ = 0;
  std::vector<Value> slopes_;
  std::vector<Value> left_least_, right_block_, right_least_;  // by slope, then by block
};

}  // namespace tidemark::schedule
