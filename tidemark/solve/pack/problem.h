// What the solvers see: items reduced to blocks over numbered sections of time.
//
// Only which items live together matters, so time shrinks to its maximal cliques ("sections"): a new one
// starts where a lifetime begins after another ended. Sizes are rounded to alignments and divided by their
// common unit. Items that no other overlaps, even indirectly, are problems of their own.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/solve/pack/pack.h"

namespace tidemark::packing {

struct Block {
  int first = 0, last = 0;     // sections [first, last)
  std::int64_t size = 0;       // in units, above 0
  std::int64_t alignment = 1;  // in units, a power of two
  int length() const { return last - first; }
};

struct Problem {
  std::vector<Block> blocks;
  std::vector<std::size_t> origin;  // block → item
  int sections = 0;
  std::vector<std::int64_t> load;  // per section
  std::int64_t bound = 0;          // the maximum load
  bool aligned = true;             // every alignment is 1: any multiple of the unit will do
  std::int64_t area() const;       // Σ length over blocks: what one pass over all sections costs
};

struct Reduction {
  std::int64_t unit = 1;
  std::vector<Problem> problems;  // connected in time; highest bound first
};

// Throws Error as documented at pack().
Reduction reduce(std::span<const PackItem> items);

// Offsets, in units, from a solver.
struct Layout {
  std::vector<std::int64_t> offsets;
  std::int64_t height = 0;
};

}  // namespace tidemark::packing
