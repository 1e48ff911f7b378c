#include "tidemark/ops/convolution/conv_geometry.h"

namespace tidemark {

bool ConvGeometry::is_pointwise() const { return taps == 1 && !padded && stride == Triple{1, 1, 1}; }

ConvGeometry conv_geometry(const Shape& x, const Shape& w, const Shape& y, const ConvAttrs& attrs) {
  ConvGeometry g;
  g.batch = x[0];
  g.groups = attrs.groups;
  g.group_in = w[1];
  g.group_out = w[0] / attrs.groups;
  const int spatial = x.rank() - 2;
  for (int d = 0; d < spatial; ++d) {
    const auto i = static_cast<std::size_t>(d + 3 - spatial);
    g.in[i] = x[d + 2], g.kernel[i] = w[d + 2], g.out[i] = y[d + 2];
    g.stride[i] = attrs.stride[d], g.low[i] = attrs.low[d], g.dilation[i] = attrs.dilation[d];
    g.padded |= attrs.low[d] != 0 || attrs.high[d] != 0;
  }
  for (std::size_t i = 0; i < 3; ++i) g.in_points *= g.in[i], g.out_points *= g.out[i], g.taps *= g.kernel[i];
  g.depth = g.group_in * g.taps;
  return g;
}

ConvAttrs without_size(const ConvGradAttrs& a) {
  return {.stride = a.stride, .low = a.low, .high = a.high, .dilation = a.dilation, .groups = a.groups};
}

}  // namespace tidemark
