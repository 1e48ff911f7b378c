// How the ops that draw share a key's numbers.
#pragma once
#include <cstdint>

namespace tidemark {

// Which op draws: the upper half of Philox's stream, so that two ops given one key share no blocks.
enum class RandomDomain : std::uint64_t {
  bits = 1,
  uniform,
  normal,
  bernoulli,
  permutation,
  split,
  fold,
  rounding
};

constexpr std::uint64_t stream_of(RandomDomain domain, std::int64_t stream = 0) {
  return static_cast<std::uint64_t>(domain) << 32 | static_cast<std::uint64_t>(stream);
}

}  // namespace tidemark
