#include "tidemark/ops/conv_geometry.h"

#include <algorithm>

#include "tidemark/kernel/args.h"

namespace tidemark {
namespace {

constexpr std::int64_t max_slots = 8;
constexpr std::int64_t wanted_tasks = 8;
constexpr std::int64_t panel_elements = 128 * 1024;  // half a mebibyte of f32: stays in a second-level cache
constexpr std::int64_t least_points = 64;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, buffer_alignment) * buffer_alignment; }
std::int64_t evenly(std::int64_t size, std::int64_t largest) {
  return ceil_div(size, ceil_div(size, largest));
}

std::int64_t points_for(std::int64_t rows, std::int64_t out_points) {
  return evenly(out_points, std::clamp<std::int64_t>(panel_elements / rows, least_points, 2048));
}

}  // namespace

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

ConvBlocks conv_blocks(const ConvGeometry& g, ConvPart part, DType dtype) {
  ConvBlocks b;
  const bool narrow = dtype == DType::bf16 || dtype == DType::f16;
  const std::int64_t width = narrow ? 4 : size_of(dtype);
  if (g.is_depthwise() || (g.is_pointwise() && !narrow))
    return b;  // direct kernels, or BLAS on the operands as they lie
  if (g.batch * g.groups * g.group_out * g.out_points * g.depth == 0) return b;

  const std::int64_t images = g.batch * g.groups;
  if (part == ConvPart::forward) {
    b.rows = evenly(g.depth, 768);
    b.points = points_for(b.rows, g.out_points);
    while (b.points > least_points && images * ceil_div(g.out_points, b.points) < wanted_tasks)
      b.points = ceil_div(b.points, 2);
  } else {
    // Whole channels, so that a task of the input gradient owns what it adds to.
    std::int64_t channels = evenly(g.group_in, std::max<std::int64_t>(1, 512 / g.taps));
    const std::int64_t others = part == ConvPart::input_grad ? images : g.groups;
    while (channels * g.taps > 128 && channels > 1 &&
           others * ceil_div(g.group_in, channels) < wanted_tasks) {
      channels = ceil_div(channels, 2);
    }
    b.rows = channels * g.taps;
    b.points = points_for(b.rows, g.out_points);
  }
  b.row_blocks = ceil_div(g.depth, b.rows);
  b.point_blocks = ceil_div(g.out_points, b.points);
  if (part == ConvPart::weight_grad) {
    b.chunks = std::clamp<std::int64_t>(ceil_div(wanted_tasks / 2, g.groups * b.row_blocks), 1, g.batch);
    b.tasks = b.chunks * g.groups * b.row_blocks;
  } else {
    b.tasks = images * (part == ConvPart::forward ? b.point_blocks : b.row_blocks);
  }
  b.slots = std::min(b.tasks, max_slots);

  const std::int64_t weights = g.groups * g.group_out * g.depth;
  b.panel = aligned(b.rows * b.points * width);
  if (narrow) b.stage = aligned(g.group_out * b.points * width);
  if (narrow && part != ConvPart::weight_grad) b.shared = aligned(weights * width);
  if (narrow && part == ConvPart::input_grad) b.sums = aligned(b.rows / g.taps * g.in_points * width);
  if (part == ConvPart::weight_grad && (b.chunks > 1 || narrow))
    b.shared = aligned(b.chunks * weights * width);
  return b;
}

}  // namespace tidemark
