// Images of other sizes and images as windows: x is (N, C, spatial…). Written with the ops there are.
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

// ---- other sizes. Pixels are areas: the first and the last lie half a pixel inside of the edge
// (align_corners = false of torch).
enum class Interpolation {
  nearest,  // any number of spatial dimensions
  linear    // also bilinear, trilinear: linear along each
};
// To `size`, one entry per spatial dimension.
Tensor interpolate(const Operand& x, const Dims& size, Interpolation how = Interpolation::nearest);
// Pools to `size` with windows as equal as whole pixels allow: result i of n sees [⌊i·S/n⌋, ⌈(i+1)·S/n⌉).
Tensor adaptive_avg_pool(const Operand& x, const Dims& size);
Tensor adaptive_max_pool(const Operand& x, const Dims& size);

// ---- windows, of images with two spatial dimensions
struct Windows {
  Dims window = {};                // height, width
  Dims stride = {}, padding = {};  // of both sides, with zeros; empty: 1 and 0
};
// (N, C, H, W) to (N, C · window, number of windows): torch's unfold, im2col.
Tensor unfold(const Operand& x, const Windows& windows);
// The adjoint: windows are summed into an image of size (H, W). torch's fold, col2im.
Tensor fold(const Operand& x, const Dims& size, const Windows& windows);

}  // namespace tidemark
