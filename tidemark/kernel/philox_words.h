// Many blocks of Philox at once: what random kernels draw from, a chunk of words at a time.
#pragma once
#include <cstdint>

#include "tidemark/base/philox.h"

namespace tidemark {

// The four words each of the blocks first … first + count - 1 of a stream, as philox(block, stream) gives
// them.
void philox_words(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count,
                  std::uint32_t* words);

}  // namespace tidemark
