// Several pointwise calls as one kernel: the shape they share is walked once, and what is made and read
// inside exists only as tiles in the L1 cache. A kernel of a single call is the program of one instruction.
//
//   shape ── cut by size alone ──▶ tasks ──▶ tiles ──▶ instructions, one after the other
//                                              ▲            │
//   operand: dense ──────── pointer ───────────┤            ├── result: memory
//            one element ── filled once ───────┤            └── temporary: a register (a tile's worth of bytes on the
//            strided, 16-bit ── loaded ────────┘                          stack), free again after its last reader
//
// Where the processor allows it, segments of arithmetic on f32 are machine code (kernel/fused_code), whose
// temporaries are vector registers. Bits are those of the calls run one by one: 16-bit temporaries are
// rounded to their storage format.
#pragma once
#include <optional>
#include <vector>

#include "tidemark/kernel/args.h"
#include "tidemark/kernel/fused_code.h"
#include "tidemark/kernel/group_ref.h"
#include "tidemark/kernel/reduce.h"
#include "tidemark/kernel/tile.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/kernel/walk.h"

namespace tidemark {

struct FusedStep {
  TileCode code;
  std::vector<GroupRef> in;
  GroupRef out;
  DType dtype;  // of the result
  Shape shape;  // of the result: the program's, or one element (a temporary then)
};

// What may follow the steps: a reduction of one of their results, which then needs no memory.
struct FusedReduction {
  Reduction reduction;
  Dims axes;
  GroupRef in, out;
};

class FusedProgram {
 public:
  // `operands`: dtype, shape and strides; their data are known when it runs.
  FusedProgram(const Shape& shape, std::span<const TensorRef> operands, std::vector<FusedStep> steps,
               const std::optional<FusedReduction>& reduction = std::nullopt);

  void run(const KernelArgs& args) const;

 private:
  friend class FusedCompiler;
  friend class FusedTiles;

  using Slot = std::uint16_t;  // registers first, then operands, then results
  struct Instruction {
    enum Kind : std::uint8_t {
      tile,
      load,    // elements of operand `number`, as the tiles read them
      repeat,  // the element that operand `number` has in a whole row
      widen,   // a tile of 16-bit floats to f32
      narrow,  // and back
      code,    // number `number` of codes_
    };
    Kind kind = tile;
    TileOp op = TileOp::other;
    Tile run = nullptr;
    TileLoad from_storage = nullptr;
    TileStore to_storage = nullptr;
    const void* attributes = nullptr;
    std::array<Slot, max_tile_operands> in{};
    Slot out = 0;
    int in_count = 0;
    int number = 0;
    std::array<std::uint8_t, max_tile_operands> in_width{};  // bytes from one element to the next
    std::int64_t width = 0;                                  // likewise of `out`
  };
  struct Code {  // several instructions as one
    std::shared_ptr<const MachineCode> machine;
    std::vector<Slot> places;
    std::vector<Instruction> rest;  // the same as tiles
  };
  struct Direct {  // an operand or result whose memory the tiles see
    Slot slot;
    int number;
    std::int64_t size;  // bytes of an element
  };
  Shape shape_;
  Walk walk_;
  std::vector<FusedStep> steps_;          // keep the attributes
  std::vector<Instruction> once_, each_;  // for a task, for a tile
  std::vector<Code> codes_;
  std::vector<Direct> operands_, row_operands_, results_;
  std::vector<std::int64_t> registers_;  // offsets in the frame, in bytes
  std::int64_t tile_ = 0;                // elements
  std::int64_t task_ = 0;                // elements of the shortest task
  std::int64_t filled_ = 0;              // elements of a register whose value is the same in all of them
  std::optional<FusedReduction> reduction_;
  Slot reduced_ = 0;
  std::int64_t reduced_size_ = 0;  // bytes of an element
};

// KernelArgs::attributes is the FusedProgram.
void run_fused(const KernelArgs& args);

}  // namespace tidemark
