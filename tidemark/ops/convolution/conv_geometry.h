// The sizes of a convolution, with 1-D and 2-D seen as 3-D.
//
// A convolution is a product with the matrix of patches, one column per output point, one row per channel and
// tap:
//
//   y (O, P) = w (O, C·taps) × patches (C·taps, P)         patches[(c, k), p] = x[c, p stride + k dilation -
//                                                          low]
#pragma once
#include <array>

#include "tidemark/ops/convolution/conv.h"

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
ConvAttrs without_size(const ConvGradAttrs& attrs);

enum class ConvPart { forward, input_grad, weight_grad };

}  // namespace tidemark
