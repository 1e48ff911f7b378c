#include "tidemark/ops/convolution/conv_depthwise.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr std::int64_t frame_elements = 6144;  // 24 KiB of f32: frame and result stay in a first-level cache
constexpr std::int64_t work_per_task = 1 << 16;  // multiply-adds
constexpr std::int64_t max_slots = 8;
constexpr std::int64_t least_rows = 8;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

DepthwiseBlocks depthwise_blocks(const ConvGeometry& g, ConvPart part, DType dtype) {
  DepthwiseBlocks b;
  if (g.batch * g.groups * g.group_out * g.in_points * g.out_points == 0) return b;
  const bool to_input = part == ConvPart::input_grad;
  const auto count = [&](std::size_t d) {  // positions of one phase along dimension d
    return to_input ? (g.in[d] - 1 + g.low[d]) / g.stride[d] - g.low[d] / g.stride[d] + 1 : g.out[d];
  };
  const auto reach = [&](std::size_t d) { return (g.kernel[d] - 1) * g.dilation[d] / g.stride[d]; };
  b.phases = g.stride[1] * g.stride[2];
  b.halo = reach(1), b.cols = count(2), b.pitch = b.cols + reach(2);
  const std::int64_t all = count(1);
  b.rows = std::clamp<std::int64_t>(frame_elements / (b.pitch * b.phases) - b.halo, std::min(least_rows, all),
                                    all);
  b.row_blocks = ceil_div(all, b.rows);
  b.rows = ceil_div(all, b.row_blocks);
  const auto whole = [](std::int64_t elements) { return ceil_div(elements, 32) * 32; };
  b.frame = whole((to_input ? 1 : b.phases) * (b.rows + b.halo) * b.pitch + depthwise_slack);
  b.result = whole((to_input ? b.phases : 1) * (b.rows * b.pitch + depthwise_slack));

  const std::int64_t per_plane = g.group_out * g.out_points * g.taps;
  b.planes = part == ConvPart::weight_grad ? g.groups * g.group_out : g.batch * g.groups;
  const std::int64_t work = part == ConvPart::weight_grad ? per_plane / g.group_out * g.batch : per_plane;
  b.planes_per_task = std::clamp<std::int64_t>(work_per_task / std::max<std::int64_t>(work, 1), 1, b.planes);
  b.tasks = ceil_div(b.planes, b.planes_per_task);
  b.slots = std::min(b.tasks, max_slots);
  const std::int64_t width = dtype == DType::f64 ? 8 : 4;
  const std::int64_t sums = part == ConvPart::weight_grad ? g.taps * 8 : 0;
  b.slot_bytes = ceil_div((b.frame + b.result) * width + sums, buffer_alignment) * buffer_alignment;
  return b;
}

}  // namespace tidemark
