// Decides how loops are reversed, once it is known how much memory there is. Until then a loop that is to be
// reversed keeps the state before every iteration, and its reversal says what it needs
// (ops/control/loop_reverse.h). Either becomes
//
//   records   two plain loops: the first stacks whatever the second reads, so that nothing is computed twice;
//             or a part of
//             it, from which the second computes the rest again, step by step;
//   states    the states of as many iterations as there are slots; each step is computed again when it is
//             reversed, and
//             others on the way to it, as few as possible (schedule/kinds/binomial_count.h).
//
// Records may be kept by segments of the loop (loop_segments.h), each of which the plan can move or compute
// again by itself. The gradients have the same bits.
#pragma once
#include <limits>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

// Bytes that a loop may take for what it keeps, and those that each loop in a step of it may take, counted by
// itself. Records that are within it are kept by so many segments. On a disk, `own` is for each segment, and
// so many of the first ones make what they keep again (SegmentCut).
struct LoopLimit {
  std::int64_t own = unlimited_memory, inside = unlimited_memory;
  std::int64_t segments = 1;
  std::int64_t again = 0;
  bool on_disk = false;
};
struct LoopMemory {
  LoopMemory(std::int64_t bytes = unlimited_memory) : each{bytes, bytes} {}  // NOLINT: implicit by design
  LoopLimit each;                      // for all that have no limit of their own here
  std::vector<LoopLimit> limits = {};  // by number, as loop_modes lists them
  bool several_steps = false;          // stencils take several steps at once (autodiff/several_steps.h)
};

// Loops with a limit of their own (LoopOptions::memory) stay within that as well.
Graph lower_loops(const Graph& graph, const LoopMemory& memory = {});

// What is left to decide at a loop of the graph, or at another node with loops in its regions: limits that
// make a difference, from no limit to the least, at equal ratios where there are many. Empty: nothing.
struct LoopModes {
  std::vector<std::int64_t> own;     // all records; fewer of them; the states of all steps, of fewer, of one
  std::vector<std::int64_t> inside;  // for all loops in its regions
  std::int64_t trips = 0;            // of a loop that can be cut into segments; 0: none
  std::vector<std::int64_t> records = {};  // of it: bytes of all of them, of fewer
};
std::vector<LoopModes> loop_modes(const Graph& graph);

// Whether anything is left to decide, here or in regions; the range of limits that make a difference.
struct LoopMemoryRange {
  bool any = false;
  std::int64_t least = 0,
               most = 0;  // bytes: one state of the largest; the records of all steps of the largest
};
LoopMemoryRange loop_memory_range(const Graph& graph);

}  // namespace tidemark
