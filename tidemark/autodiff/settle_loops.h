// Decides how loops are reversed, once it is known how much memory there is. Until then a loop that is to be reversed
// keeps the state before every iteration, and its reversal says what it needs (ops/control/loop_reverse.h). Either becomes
//
//   records   two plain loops: the first stacks whatever the second reads, so that nothing is computed twice;
//   states    the states of as many iterations as there are slots; each step is computed again when it is reversed, and
//             others on the way to it, as few as possible (schedule/kinds/binomial_count.h).
//
// The gradients have the same bits.
#pragma once
#include <limits>

#include "tidemark/ir/graph.h"

namespace tidemark {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

// `memory`: bytes that each loop may take for what it keeps; loops inside a step of another one are counted by
// themselves. Loops with a limit of their own (LoopOptions::memory) stay within that as well.
Graph settle_loops(const Graph& graph, std::int64_t memory = unlimited_memory);

// Whether anything is left to decide, here or in regions; the range of limits that make a difference.
struct LoopMemoryRange {
  bool any = false;
  std::int64_t least = 0,
               most = 0;  // bytes: one state of the largest; the records of all steps of the largest
};
LoopMemoryRange loop_memory_range(const Graph& graph);

}  // namespace tidemark
