#include "tidemark/ops/convolution/conv_lattice.h"

#include <algorithm>
#include <numeric>

namespace tidemark {
namespace {

// Weights are packed again for every image's product, which only many points make up for.
constexpr std::int64_t points_of_its_own = 1024;

bool is_narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

std::int64_t scratch_of(const ConvProduct& product, DType dtype) {
  return dtype == DType::f64 ? gemm::scratch_bytes<double>(product.sizes, !product.direct)
                             : gemm::scratch_bytes<float>(product.sizes, !product.direct);
}

}  // namespace

ConvPhase forward_phase(const ConvGeometry& g) {
  ConvPhase p;
  p.source = {.in = g.in,
              .out = g.out,
              .taps = g.kernel,
              .stride = g.stride,
              .step = g.dilation,
              .base = {-g.low[0], -g.low[1], -g.low[2]},
              .channels = g.group_in,
              .groups = g.groups};
  p.result = {.size = g.out, .stride = {g.out[1] * g.out[2], g.out[2], 1}, .first = 0, .plane = g.out_points};
  p.taps = {.stride = {g.kernel[1] * g.kernel[2], g.kernel[2], 1}, .first = 0};
  if (g.is_pointwise()) {  // one long row
    p.source.in = p.source.out = p.result.size = {1, 1, g.in_points};
  }
  return p;
}

std::int64_t input_phases(const ConvGeometry& g) { return g.stride[0] * g.stride[1] * g.stride[2]; }

ConvPhase input_phase(const ConvGeometry& g, std::int64_t index) {
  ConvPhase p;
  p.source = {.in = g.out, .stride = {1, 1, 1}, .channels = g.group_out, .groups = g.groups};
  p.result.plane = g.in_points;
  const ConvGeometry::Triple plane_stride{g.in[1] * g.in[2], g.in[2], 1};
  const ConvGeometry::Triple tap_stride{g.kernel[1] * g.kernel[2], g.kernel[2], 1};
  for (std::size_t d = 3; d-- > 0;) {
    const std::int64_t s = g.stride[d], dilation = g.dilation[d], phase = index % s;
    index /= s;
    // The taps: the first that meets the phase, then every `every`-th.
    const std::int64_t every = s / std::gcd(s, dilation);
    std::int64_t tap = 0;
    while (tap < every && tap * dilation % s != phase) ++tap;
    const std::int64_t count = tap == every || tap >= g.kernel[d] ? 0 : (g.kernel[d] - 1 - tap) / every + 1;
    // The results: v from the first that lies inside.
    const std::int64_t first = std::max<std::int64_t>(0, (g.low[d] - phase + s - 1) / s);
    const std::int64_t inside = g.in[d] - 1 + g.low[d] - phase;
    p.source.out[d] = inside < first * s ? 0 : inside / s - first + 1;
    p.source.taps[d] = count;
    p.source.step[d] = -(every * dilation / s);
    p.source.base[d] = first - (tap * dilation - phase) / s;
    p.result.size[d] = p.source.out[d];
    p.result.stride[d] = s * plane_stride[d];
    p.result.first += (first * s + phase - g.low[d]) * plane_stride[d];
    p.taps.stride[d] = every * tap_stride[d];
    p.taps.first += tap * tap_stride[d];
  }
  if (g.is_pointwise()) p.source.in = p.source.out = p.result.size = {1, 1, g.in_points};
  return p;
}

ConvProduct phase_product(const ConvGeometry& g, const ConvPhase& phase, std::int64_t rows, DType dtype) {
  const std::int64_t points = phase.source.out_points();
  ConvProduct product;
  product.direct =
      !is_narrow(dtype) && phase.result.is_whole() && (points >= points_of_its_own || g.batch == 1);
  product.sizes = {.m = rows, .n = points, .k = phase.source.depth(), .batch = g.groups};
  (product.direct ? product.sizes.batch : product.sizes.n) *= g.batch;
  return product;
}

ConvProduct weight_product(const ConvGeometry& g, DType dtype) {
  // Its columns are patches in an order that suits packing; with one tap it is that of the weights.
  return {.sizes = {.m = g.group_out, .n = g.depth, .k = g.batch * g.out_points, .batch = g.groups},
          .direct = g.taps == 1 && !is_narrow(dtype)};
}

std::int64_t conv_scratch(const ConvGeometry& g, ConvPart part, DType dtype) {
  if (part == ConvPart::weight_grad) return scratch_of(weight_product(g, dtype), dtype);
  if (part == ConvPart::forward)
    return scratch_of(phase_product(g, forward_phase(g), g.group_out, dtype), dtype);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < input_phases(g); ++i)
    most = std::max(most, scratch_of(phase_product(g, input_phase(g, i), g.group_in, dtype), dtype));
  return most;
}

}  // namespace tidemark
