// How a group that reads windows on what it makes (Target::most_halo) is cut into tiles: a block of threads
// for each, which goes through its arrays in *phases* and meets between them.
//
//   phase 0   what comes from outside and is read by windows      the tile and what windows reach beyond it,
//   phase 1   what the first layer of windows makes               each phase less far, until
//   …                                                             the last one makes the tile alone
//
// What windows read lies in memory that the block's threads share; where there is no such element, outside of
// the array, lies what is read instead. All else is computed where it is needed, in each phase again. Sizes
// follow from the steps alone. Halide and PolyMage call this overlapped tiling.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tidemark/runtime/commands.h"

namespace tidemark::cuda {

// Of the target (ir/target.h). The bytes leave room for what comes from outside.
inline constexpr std::int64_t most_tile_halo = 6, most_tile_bytes = 40 << 10;

// Has the group a window on what one of its steps makes?
bool works_in_tiles(std::span<const GroupStep> steps);

struct TileLayout {
  // What windows read.
  struct Array {
    GroupRef of = {};
    DType dtype = DType::f32;
    GroupRef outside = {};               // what is read where there is no element
    int phase = 0;                       // that writes it
    std::int64_t row = 0;                // elements from one row to the next
    std::int64_t offset = 0, bytes = 0;  // in the shared memory
  };
  struct Box {
    Dims low, high;  // elements beyond the tile
    std::int64_t points(const Dims& tile) const;
    std::int64_t width(const Dims& tile, int d) const { return tile[d] + low[d] + high[d]; }
  };
  struct Phase {
    Box box;
    std::vector<int> arrays;  // that it writes
    std::vector<bool> steps;  // that it computes, per step of the group
    bool results = false;     // does it also store what is in no array?
  };

  Shape shape;
  Dims tile;
  int threads = 0;  // of a block
  // A thread takes so many neighbours along this dimension at a time: it reads for all of them before it
  // computes, and once what several of them read.
  int run = 1, along = 0;
  // A thread has the same elements in all phases: it knows where they lie, what it read there and what it
  // made itself, and is idle in phases that do not go so far.
  bool stays = false;
  std::vector<Array> arrays;
  std::vector<Phase> phases;
  std::int64_t shared_bytes = 0;

  const Array* find(const GroupRef& ref) const;  // null: no window reads it from a tile
  Box around() const;                            // the boxes of all phases
  // Is the step a window that reads from a tile? Else it reads where the operand lies.
  bool reads_tile(const GroupStep& step) const;
  std::int64_t tiles() const;
};

// `stays`: tiles of that kind, if there is room for one; else the faster kind.
TileLayout tile_layout(std::span<const GroupStep> steps, std::optional<bool> stays = {});

// Of a step that is a window on an array of the group's shape: element i is element i + shift.
std::optional<Dims> window_shift(const Call& call);

}  // namespace tidemark::cuda
