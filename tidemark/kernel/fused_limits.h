// Sizes that the compiler of fused programs and their interpreter agree on.
#pragma once
#include <cstdint>

namespace tidemark::fused {

// Long tasks keep the processor's prefetching going, short ones keep all threads busy: a 64th of everything
// within these. A task should be worth waking a thread for, some 10 µs: `task_elements` of a few steps of
// arithmetic, fewer of functions.
inline constexpr std::int64_t task_elements = 16384;
inline constexpr std::int64_t least_task_elements = 1024;
inline constexpr std::int64_t function_cost = 4;  // exp and the like against what a pass through memory takes
inline constexpr std::int64_t long_task_elements = 262144;
inline constexpr std::int64_t most_tasks = 64;
inline constexpr std::int64_t long_tile = 1024;  // elements; longer ones gain nothing
inline constexpr std::int64_t tile_unit = 64;    // tiles are multiples: registers stay aligned
inline constexpr std::int64_t frame_bytes =
    24 * 1024;  // all registers: they share the L1 cache with operands
inline constexpr int most_slots = 512;
inline constexpr int most_code_places = 32;  // operands and results of machine code

}  // namespace tidemark::fused
