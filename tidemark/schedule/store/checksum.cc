#include "tidemark/schedule/store/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tidemark::schedule {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::uint64_t sum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  return sum == 0 ? 1 : sum;
}

}  // namespace tidemark::schedule
