// Convolutions with one input channel per group, without a matrix of patches: too thin for products of
// matrices, they are limited by memory. A block of rows of a plane is copied into a *frame* in the compute
// type: padded, and with strides cut into phases, so that a tap is the frame at a constant offset, and rows
// follow each other at one pitch:
//
//   0 a b c d 0        y[i] = Σ_taps w[tap] · frame[offset(tap) + i],   all rows of the block as one long
//   row;
//   0 e f g h 0        what is computed between the rows is left out
//
// The gradient of the input is the same with the roles of phases swapped: the frame holds y, and every phase
// of x is a result of its own, from the taps that meet it. Sums run over the taps in order.
#pragma once
#include "tidemark/kernel/args.h"
#include "tidemark/ops/convolution/conv_geometry.h"

namespace tidemark {

struct DepthwiseBlocks {
  std::int64_t rows = 0, row_blocks = 0;  // rows of a block, in one phase
  std::int64_t cols = 0;                  // of them, in one phase
  std::int64_t halo = 0, pitch = 0;       // a phase of the frame: rows + halo rows of `pitch` elements
  std::int64_t phases = 1;                // stride[1] · stride[2]
  std::int64_t frame = 0, result = 0;     // elements; `result` is the frame of y for a weight gradient
  std::int64_t planes = 0, planes_per_task = 1;
  std::int64_t tasks = 0, slots = 0, slot_bytes = 0;
  std::int64_t scratch_bytes() const { return slots * slot_bytes; }
};
DepthwiseBlocks depthwise_blocks(const ConvGeometry& g, ConvPart part, DType dtype);

// What vectors may read and write beyond the end of a frame or result, in elements.
inline constexpr std::int64_t depthwise_slack = 128;

void run_depthwise(const KernelArgs& args, const ConvGeometry& g, ConvPart part);

}  // namespace tidemark
