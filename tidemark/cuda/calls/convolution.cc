// Convolutions by a kernel of ours (device/convolution.h).
#include <algorithm>

#include "tidemark/cuda/calls/call_text.h"
#include "tidemark/cuda/calls/family.h"
#include "tidemark/cuda/conv_form.h"
#include "tidemark/ops/registry.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t conv_tile = 64;          // as in device/convolution.h
constexpr int conv_threads = 256;               // likewise
constexpr std::int64_t thin_columns = 8;        // from here on tiles pay
constexpr std::int64_t busy_conv_blocks = 264;  // that keep a GPU busy
constexpr std::int64_t most_conv_slabs = 64, least_conv_slab = 512;

// The product of one group, and how its sums are cut.
struct ConvTiles {
  std::int64_t rows, columns, depth, blocks, slabs = 1, slab_depth;
  bool thin = false;

  explicit ConvTiles(const ConvForm& form) {
    const auto product = [](const ConvTensor& t) { return t.size[2] * t.size[3] * t.size[4]; };
    const std::int64_t out_points = form.y.size[0] * product(form.y),
                       in_points = form.x.size[0] * product(form.x), taps = product(form.w);
    switch (form.part) {
      case ConvPart::forward:
        rows = out_points, columns = form.group_out(), depth = taps * form.group_in();
        break;
      case ConvPart::input_grad:
        rows = in_points, columns = form.group_in(), depth = taps * form.group_out();
        break;
      case ConvPart::weight_grad:
        rows = form.group_out(), columns = taps * form.group_in(), depth = out_points;
        break;
    }
    thin = form.part != ConvPart::weight_grad && columns < thin_columns;
    blocks = form.groups * ((rows + conv_tile - 1) / conv_tile) * ((columns + conv_tile - 1) / conv_tile);
    if (form.part == ConvPart::weight_grad && blocks > 0)
      slabs = std::clamp<std::int64_t>(std::min(busy_conv_blocks / blocks, depth / least_conv_slab), 1,
                                       most_conv_slabs);
    slab_depth = std::max<std::int64_t>(1, (depth + slabs - 1) / slabs);
    slabs = std::max<std::int64_t>(1, (depth + slab_depth - 1) / slab_depth);
  }
};

void write_tensor(CallText& text, std::string_view name, std::string_view first, const ConvTensor& tensor) {
  text.count(fmt::format("{}_{}", name, first), tensor.stride[0]);
  text.count(fmt::format("{}_c", name), tensor.stride[1]);
  for (int d = 0; d < 3; ++d)
    text.count(fmt::format("{}_{}", name, d), tensor.stride[static_cast<std::size_t>(d + 2)]);
}

KernelText write_convolution(const Call& call, std::string_view name) {
  const ConvForm form = *conv_form(call);
  const ConvTiles tiles(form);
  CallText text(call, name, "convolution");
  text.type("T", form.dtype);
  text.type("Sum", form.dtype == DType::f64 ? DType::f64 : DType::f32);
  text.number("part", static_cast<int>(form.part));
  text.flag("channels_last", form.channels_last);
  // What runs fast in memory: depth is channels in either operand of the forward product when they come last.
  const bool weights = form.part == ConvPart::weight_grad;
  text.flag("left_by_depth", weights != form.channels_last);
  text.flag("right_by_depth", form.part == ConvPart::forward || (weights && !form.channels_last));
  text.count("batch", form.x.size[0]);
  text.count("groups", form.groups);
  text.count("group_in", form.group_in());
  text.count("group_out", form.group_out());
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const auto add = [&](std::string_view what, std::int64_t value) {
      text.count(fmt::format("{}{}", what, d), value);
    };
    add("in", form.x.size[d + 2]);
    add("out", form.y.size[d + 2]);
    add("kernel", form.w.size[d + 2]);
    add("stride", form.stride[d]);
    add("low", form.low[d]);
    add("dilation", form.dilation[d]);
    taps *= form.w.size[d + 2];
  }
  text.count("taps", taps);
  write_tensor(text, "x", "n", form.x);
  write_tensor(text, "y", "n", form.y);
  write_tensor(text, "w", "o", form.w);
  text.count("count", call.out[0].count());
  text.count("slabs", tiles.slabs);
  text.count("slab_depth", tiles.slab_depth);
  if (tiles.thin) {
    text.launch_turns("convolve_elements", call.out[0].count());
    return text.finish();
  }
  text.launch("convolve_tiles", tiles.blocks * tiles.slabs, conv_threads, true);
  if (tiles.slabs > 1) text.launch_turns("convolve_totals", call.out[0].count());
  return text.finish();
}

std::int64_t convolution_scratch(const Call& call) {
  const ConvForm form = *conv_form(call);
  const ConvTiles tiles(form);
  if (tiles.slabs == 1) return 0;
  return tiles.slabs * call.out[0].count() * (form.dtype == DType::f64 ? 8 : 4);
}

}  // namespace

std::span<const CallRow> convolution_calls() {
  constexpr CallFamily family{.write = write_convolution, .scratch = convolution_scratch};
  static const CallRow rows[] = {
      {&op::conv, family},      {&op::conv_input_grad, family},      {&op::conv_weight_grad, family},
      {&op::conv_last, family}, {&op::conv_last_input_grad, family}, {&op::conv_last_weight_grad, family}};
  return rows;
}

}  // namespace tidemark::cuda
