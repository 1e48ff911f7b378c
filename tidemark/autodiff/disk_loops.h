// Loops that may keep states on a disk (LoopOptions::disk): what there is to know of each before it is cut
// into segments (loop_segments.h) that wait there.
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

struct DiskLoop {
  std::size_t number = 0;  // as loop_modes lists it
  SourceLine where = {};
  std::int64_t trips = 0;
  std::int64_t memory = -1, disk = 0;     // bytes, as LoopAttrs has them
  std::vector<std::int64_t> state = {};   // bytes of each carried value
  std::vector<std::int64_t> record = {};  // of each value that is kept of a step, where records are
  std::int64_t slice_bytes = 0;           // of the ys of a step, and of the gradients of its xs
  bool replayable = false;                // else its records are kept, whatever they take
  Graph step = {}, back = {};             // of its reversal: the step, and its reverse without records

  std::int64_t state_bytes() const;
  std::int64_t record_bytes() const;  // of a step
};

// Those of the graph itself, unlowered.
std::vector<DiskLoop> disk_loops(const Graph& unlowered);

// A loop that is reversed and names a folder, or bytes there, of the graph or inside of its regions.
struct FolderWish {
  std::string folder = {};  // empty: the system's for temporary files
  SourceLine where = {};
  bool inside = false;  // of a loop or branch
};
std::vector<FolderWish> folder_wishes(const Graph& graph);

}  // namespace tidemark
