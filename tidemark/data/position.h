// How far a loader has come. Saved and given back (Loader::seek), the sequence of batches goes on to the bit.
#pragma once
#include <cstdint>

namespace tidemark::data {

struct Position {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;    // of the epoch: the next one that is given out
  std::uint64_t loader = 0;  // which data, batches, key and rank: a position of another is refused
  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace tidemark::data
