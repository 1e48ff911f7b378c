// Into how many segments a loop with a disk is cut, and what of each waits there, by a formula.
//
//   steps     ├────────┤────────┤────────┤────────┤      m states kept of each segment, or its records
//   disk          ▁▁▂▂▃▃▄▄▅▅▆▆▅▅▄▄▃▃▂▂▁▁                 what is kept, or the state a segment begins with
//   reverse   ◀──┤again├──┤again├──────────────┤
//
// What the last segment keeps is read at once and stays. Of the others, all that is kept waits on the disk if
// there is room; else the first ones have only the state wait that they begin with, and run again from it.
#pragma once
#include <vector>

#include "tidemark/autodiff/disk_loops.h"
#include "tidemark/plan/machine.h"

namespace tidemark {

struct DiskCut {
  int kind = 0;  // what waits on the disk, and how much is kept beside it: of the same kind, memory is alike
  std::int64_t segments = 0;
  std::int64_t again = 0;    // of the first of them
  std::int64_t own = 0;      // bytes for what each keeps, in memory
  std::int64_t slots = 0;    // states that these are; 0: records are kept
  std::int64_t on_disk = 0;  // bytes there
  std::int64_t beside = 0;   // bytes of slices, of one segment, that a whole loop has no copies of
  double seconds = 0;        // of the loop and its reverse
};

// Seconds of a step, and of the reverse of one with the step in it; ways to the disk and back.
struct DiskLoopRates {
  double step = 0, back = 0;
  Link out = {}, in = {};
};

// In memory beside what a segment keeps: the states that it begins and ends with, and one on its way.
inline constexpr std::int64_t most_states_beside = 3;

// Within `memory` bytes for what is kept (or as little as there can be) and `disk` bytes there, in up to
// `most` segments; the fastest first. Some leave less beside than they may need. Empty: there is no room for
// any.
std::vector<DiskCut> disk_cuts(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t memory,
                               std::int64_t disk, std::int64_t most);

// Of the loop and its reverse without a disk: with states in `memory` bytes; with all records where that is
// negative.
double seconds_alone(const DiskLoop& loop, const DiskLoopRates& rates, std::int64_t memory);

}  // namespace tidemark
