#include "tidemark/data/permutation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "tidemark/base/check.h"

namespace tidemark::data {
namespace {

constexpr std::int64_t most_listed = std::int64_t{1} << 16;
constexpr int rounds = 6;

// In [0, n), each equally likely: numbers that would favour some are drawn again (Lemire 2019).
std::uint64_t below(const Philox& philox, std::uint64_t stream, std::uint64_t counter, std::uint32_t n) {
  for (std::uint64_t again = 0;; ++again) {
    const auto words = philox(counter + (again << 32), stream);
    for (const std::uint32_t word : words) {
      const std::uint64_t product = std::uint64_t{word} * n;
      if (static_cast<std::uint32_t>(product) >= (0u - n) % n) return product >> 32;
    }
  }
}

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t key, std::uint64_t stream)
    : size_(size), philox_{key}, stream_(stream) {
  if (size > most_listed) {
    half_bits_ = (std::bit_width(static_cast<std::uint64_t>(size - 1)) + 1) / 2;
    return;
  }
  list_.resize(static_cast<std::size_t>(size));
  std::iota(list_.begin(), list_.end(), std::uint16_t{0});
  for (std::size_t i = list_.size(); i > 1; --i)
    std::swap(list_[i - 1], list_[below(philox_, stream_, i, static_cast<std::uint32_t>(i))]);
}

std::uint64_t Permutation::once(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto words = philox_(right | (round + 1) << 56, stream_);
    left ^= words[0] & mask;
    std::swap(left, right);
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator[](std::int64_t place) const {
  TM_DCHECK(place >= 0 && place < size_);
  if (!list_.empty()) return list_[static_cast<std::size_t>(place)];
  auto x = static_cast<std::uint64_t>(place);
  do {
    x = once(x);
  } while (x >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(x);
}

}  // namespace tidemark::data
