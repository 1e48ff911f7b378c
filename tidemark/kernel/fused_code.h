// Machine code for a segment of arithmetic on f32 inside a fused program: temporaries in vector registers
// instead of tiles in the cache. Each step has the bits of its tile function, but for the sign and payload of
// a NaN; where there is no code (another processor, too many values at once) the tiles run instead.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/kernel/tile.h"

namespace tidemark {

// A segment in single assignment: values 0, 1, … are what it reads, then what its steps make, in order.
struct CodeSegment {
  struct Input {
    bool invariant = false;  // the same vector for a whole tile
    friend bool operator==(const Input&, const Input&) = default;
  };
  struct Step {
    TileOp op = TileOp::other;
    std::array<int, max_tile_operands> in{};
    bool stored = false;  // its value goes to memory
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::vector<Input> inputs;
  std::vector<Step> steps;
  friend bool operator==(const CodeSegment&, const CodeSegment&) = default;
};

class MachineCode {
 public:
  // nullptr: no code for this segment. Equal segments share their code.
  static std::shared_ptr<const MachineCode> make(const CodeSegment& segment);

  MachineCode(std::span<const std::uint8_t> instructions, int elements);
  ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  // `places`: the inputs, then what is stored, each dense. Takes whole vectors; returns how many elements
  // that were.
  std::int64_t run(std::byte* const* places, std::int64_t n) const {
    const std::int64_t vectors = n / elements_;
    if (vectors > 0) function_(places, vectors);
    return vectors * elements_;
  }

 private:
  using Function = void (*)(std::byte* const* places, std::int64_t vectors);
  Function function_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::int64_t elements_;  // of a vector
};

// The instructions of a loop over vectors of `elements`, for this processor; empty: none. In a file per
// processor.
struct CodeText {
  std::vector<std::uint8_t> bytes;
  int elements = 0;
};
CodeText write_code(const CodeSegment& segment);

}  // namespace tidemark
