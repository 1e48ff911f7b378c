// The sizes of a convolution, with 1-D and 2-D seen as 3-D, and how its kernels cut it into blocks.
//
// A convolution is a product with the matrix of patches, one column per output point, one row per channel and tap:
//
//   y (O, P) = w (O, C·taps) × patches (C·taps, P)         patches[(c, k), p] = x[c, p stride + k dilation - low]
//
// That matrix is never whole: a block of it is packed into a slot of scratch, used by BLAS, and overwritten.
// Facts (the scratch claims) and kernels read the same blocks.
#pragma once
#include <array>

#include "tidemark/ops/conv.h"

namespace tidemark {

struct ConvGeometry {
  using Triple = std::array<std::int64_t, 3>;
  std::int64_t batch = 0, groups = 1;
  std::int64_t group_in = 0, group_out = 0;  // channels per group
  Triple in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Triple stride{1, 1, 1}, low{0, 0, 0}, dilation{1, 1, 1};
  bool padded = false;
  std::int64_t in_points = 1, out_points = 1, taps = 1;
  std::int64_t depth = 1;  // rows of the matrix of patches of one group: group_in · taps

  // The matrix of patches is the input itself.
  bool is_pointwise() const;
  bool is_depthwise() const { return group_in == 1; }
};
ConvGeometry conv_geometry(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& attrs);

enum class ConvPart { forward, input_grad, weight_grad };

// How the work is cut. Tasks run in `slots` rows, each serially with scratch of its own, whatever the number of threads.
struct ConvBlocks {
  std::int64_t rows = 0, points = 0;  // of a packed block of patches
  std::int64_t row_blocks = 0, point_blocks = 0;
  std::int64_t chunks = 1;  // weight_grad: parts of the batch with sums of their own
  std::int64_t tasks = 0, slots = 0;

  std::int64_t shared = 0;                      // bytes: weights in f32, or the sums of the chunks
  std::int64_t panel = 0, stage = 0, sums = 0;  // bytes in each slot
  std::int64_t slot_bytes() const { return panel + stage + sums; }
  std::int64_t scratch_bytes() const { return shared + slots * slot_bytes(); }
};
ConvBlocks conv_blocks(const ConvGeometry& g, ConvPart part, DType dtype);

// Calls f(at, length, from) for the runs of row `row` of the patches between output points begin and end: `at` counts from
// begin, `from` is the position of the first element in the group's channels of one image, or -1 for padding.
// Along a run the input advances by stride[2].
template <class F>
void for_each_run(const ConvGeometry& g, std::int64_t row, std::int64_t begin, std::int64_t end, const F& f) {
  const std::int64_t tap = row % g.taps;
  const std::int64_t base0 = tap / (g.kernel[2] * g.kernel[1]) * g.dilation[0] - g.low[0];
  const std::int64_t base1 = tap / g.kernel[2] % g.kernel[1] * g.dilation[1] - g.low[1];
  const std::int64_t base2 = tap % g.kernel[2] * g.dilation[2] - g.low[2];
  const std::int64_t step = g.stride[2];
  const std::int64_t first = base2 >= 0 ? 0 : (-base2 + step - 1) / step;                // that lies inside
  const std::int64_t last = base2 >= g.in[2] ? 0 : (g.in[2] - base2 + step - 1) / step;  // one past
  const std::int64_t channel = row / g.taps * g.in_points;
  std::int64_t o2 = begin % g.out[2], o1 = begin / g.out[2] % g.out[1], o0 = begin / (g.out[2] * g.out[1]);
  for (std::int64_t p = begin; p < end;) {
    const std::int64_t count = g.out[2] - o2 < end - p ? g.out[2] - o2 : end - p;
    const std::int64_t i0 = o0 * g.stride[0] + base0, i1 = o1 * g.stride[1] + base1;
    if (i0 < 0 || i0 >= g.in[0] || i1 < 0 || i1 >= g.in[1]) {
      f(p - begin, count, std::int64_t{-1});
    } else {
      const auto within = [&](std::int64_t x, std::int64_t low) {
        return x < low ? low : x > o2 + count ? o2 + count : x;
      };
      const std::int64_t lo = within(first, o2), hi = within(last, lo);
      if (lo > o2) f(p - begin, lo - o2, std::int64_t{-1});
      if (hi > lo)
        f(p - begin + lo - o2, hi - lo, channel + (i0 * g.in[1] + i1) * g.in[2] + lo * step + base2);
      if (o2 + count > hi) f(p - begin + hi - o2, o2 + count - hi, std::int64_t{-1});
    }
    p += count, o2 = 0;
    if (++o1 == g.out[1]) o1 = 0, ++o0;
  }
}

}  // namespace tidemark
