// Reversing a loop whose states lie in memory and in files: how many go where, on which schedule, in which
// scratch.
//
// The loop itself keeps its first state only. The reversal goes over the steps again from there, storing
// states as the schedule says, so that files are there while one kernel runs and no longer.
#pragma once
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/schedule/plan.h"

namespace tidemark {

inline constexpr double file_bytes_per_second = 1e9;  // of a usual disk, for predictions alone
inline constexpr int file_buffers = 4;                // of a state each, for transfers in flight

inline constexpr std::int64_t least_states_with_files = 2 + file_buffers;  // in memory, of those kept

struct FileSlots {
  std::int64_t memory = 0, disk = 0;
};
// What `memory` bytes hold beside the first state and the buffers, but at least one; what `disk` bytes hold.
FileSlots file_slots(std::int64_t trips, std::int64_t state_bytes, std::int64_t memory, std::int64_t disk);

// Of one state, from the operands of a reversal: its snapshots come first.
std::int64_t kept_state_bytes(std::span<const Type> in, const LoopReverseAttrs& attrs);

// `step`: what the step's plan predicts; null: a transfer is as long as a step.
schedule::Question files_question(const LoopReverseAttrs& attrs, std::int64_t state_bytes,
                                  const RegionFacts* step);

// Slots in memory, then buffers.
std::int64_t files_scratch(const LoopReverseAttrs& attrs, std::int64_t state_bytes);
std::int64_t files_slots_scratch(const LoopReverseAttrs& attrs, std::int64_t state_bytes);

}  // namespace tidemark
