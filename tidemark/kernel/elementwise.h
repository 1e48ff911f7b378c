// Walks the result of an elementwise kernel and feeds tiles.
//
//   result ── cut by size alone ──▶ tasks ──▶ tiles of ≤ 256 elements ──▶ tile function
//                                               ▲
//   operand: dense ──────── pointer ────────────┤
//            one element ── filled once ────────┤   (buffers of ≤ 2 KiB on the stack)
//            strided, 16-bit ── loaded ─────────┘
#pragma once
#include "tidemark/kernel/args.h"
#include "tidemark/kernel/tile.h"

namespace tidemark {

enum class Staging : std::uint8_t {
  compute,  // 16-bit floats are widened to f32 for the tile and rounded once when stored
  storage,  // the tile sees elements as they are stored (it only moves them)
};

// Runs `tile` over args.out[0], operands broadcast as in NumPy. The result may be exactly one of the operands' memory.
void run_elementwise(const KernelArgs& args, Tile tile, Staging staging = Staging::compute);

}  // namespace tidemark
