#include "tidemark/scalar/tape.h"

#include <atomic>

namespace tidemark::scalars {

// Numbers of recordings begin anew after a million: two recordings that far apart cannot be told from each
// other.
Id next_recording() {
  static std::atomic<Id> count = 0;
  constexpr Id numbers = (Id{1} << (64 - index_bits)) - 1;
  return count.fetch_add(1, std::memory_order_relaxed) % numbers + 1;
}

template class BasicTape<double>;
template std::span<const Pack<double, 4>> BasicTape<double>::reverse_lanes<4>(std::span<const LaneSeed>,
                                                                              SourceLine);
template std::span<const Pack<double, 8>> BasicTape<double>::reverse_lanes<8>(std::span<const LaneSeed>,
                                                                              SourceLine);
template std::span<const Pack<double, 16>> BasicTape<double>::reverse_lanes<16>(std::span<const LaneSeed>,
                                                                                SourceLine);

}  // namespace tidemark::scalars
