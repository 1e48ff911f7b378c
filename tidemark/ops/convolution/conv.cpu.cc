// The three kernels of a convolution: products of matrices whose patches are packed straight from the images.
#include <algorithm>

#include "tidemark/ops/convolution/conv_depthwise.h"
#include "tidemark/ops/convolution/conv_patches.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// What forward convolution and input gradient share: results (batch, groups · rows, …) from the source's
// patches by weights, of which row r, channel c, tap k lie at r · row_stride + c · channel_stride + the tap
// lattice.
struct WeightStrides {
  std::int64_t row, channel, group;
};
template <class S>
void run_phase(const KernelArgs& args, const ConvGeometry& g, const ConvPhase& phase, std::int64_t rows,
               const WeightStrides& strides, const S* x, const S* w, S* y) {
  using T = compute_t<S>;
  const PatchLattice& l = phase.source;
  const ConvProduct plan = phase_product(g, phase, rows, dtype_of<S>);
  const PointColumns<S> patches{l, x};
  const PointResults<S> results{phase.result, rows, g.groups, y};
  gemm::Strided weights{.data = reinterpret_cast<const std::byte*>(w + phase.taps.first),
                        .dtype = dtype_of<S>};
  weights.outer = {{rows}, {strides.row}};
  // Taps that follow each other evenly are one dimension, which packs faster.
  const auto& [s0, s1, s2] = phase.taps.stride;
  if (s1 == l.taps[2] * s2 && s0 == l.taps[1] * s1) {
    if (strides.channel == l.tap_count() * s2) {
      weights.depth = {{l.depth()}, {s2}};
    } else {
      weights.depth = {{l.channels, l.tap_count()}, {strides.channel, s2}};
    }
  } else {
    weights.depth = {{l.channels, l.taps[0], l.taps[1], l.taps[2]}, {strides.channel, s0, s1, s2}};
  }
  weights.batch = {{plan.direct ? g.batch : 1, g.groups}, {0, strides.group}};
  gemm::Product<T> product{.sizes = plan.sizes, .a = gemm::source_of<T>(weights), .b = patches.source()};
  if constexpr (std::is_same_v<S, T>) {
    if (plan.direct) {
      product.c = y;
      product.ld = phase.result.plane;
      product.c_batch = {{plan.sizes.batch}, {rows * phase.result.plane}};
    }
  }
  if (!plan.direct) product.epilogue = results.epilogue();
  gemm::run<T>(*args.pool, product, args.scratch);
}

template <class S>
void forward(const KernelArgs& args, const ConvGeometry& g, const S* x, const S* w, S* y) {
  run_phase(args, g, forward_phase(g), g.group_out, {g.depth, g.taps, g.group_out * g.depth}, x, w, y);
}

template <class S>
void input_grad(const KernelArgs& args, const ConvGeometry& g, const S* y, const S* w, S* x) {
  for (std::int64_t i = 0; i < input_phases(g); ++i) {
    run_phase(args, g, input_phase(g, i), g.group_in, {g.taps, g.depth, g.group_out * g.depth}, y, w, x);
  }
}

template <class S>
void weight_grad(const KernelArgs& args, const ConvGeometry& g, const S* x, const S* y, S* w) {
  using T = compute_t<S>;
  const ConvProduct plan = weight_product(g, dtype_of<S>);
  const ConvPhase phase = forward_phase(g);
  const PatchColumns<S> patches{phase.source, x};
  const PatchResults<S> results{g.group_out, g.group_in, g.taps, w};
  gemm::Strided grad{.data = reinterpret_cast<const std::byte*>(y), .dtype = dtype_of<S>};
  const std::int64_t image = g.group_out * g.out_points;
  grad.outer = {{g.group_out}, {g.out_points}};
  grad.depth = {{g.batch, g.out_points}, {g.groups * image, 1}};
  grad.batch = {{g.groups}, {image}};
  gemm::Product<T> product{.sizes = plan.sizes, .a = gemm::source_of<T>(grad), .b = patches.source()};
  if constexpr (std::is_same_v<S, T>) {
    if (plan.direct) {
      product.c = w;
      product.ld = g.depth;
      product.c_batch = {{g.groups}, {g.group_out * g.depth}};
    }
  }
  if (!plan.direct) product.epilogue = results.epilogue();
  gemm::run<T>(*args.pool, product, args.scratch);
}

// Empty sums are zero, and the sizes of an empty operand say nothing.
template <class S>
bool is_empty(const KernelArgs& args) {
  if (args.in[0].count() > 0 && args.in[1].count() > 0) return false;
  std::fill_n(args.out[0].as<S>(), args.out[0].count(), S(0.0f));
  return true;
}

void run_conv(const KernelArgs& args) {
  const ConvGeometry g =
      conv_geometry(args.in[0].shape, args.in[1].shape, args.out[0].shape, args.attrs<ConvAttrs>());
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::forward);
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    if (is_empty<S>(args)) return;
    forward<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
}

void run_input_grad(const KernelArgs& args) {
  const ConvGeometry g = conv_geometry(args.out[0].shape, args.in[1].shape, args.in[0].shape,
                                       without_size(args.attrs<ConvGradAttrs>()));
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::input_grad);
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    if (is_empty<S>(args)) return;
    input_grad<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
}

void run_weight_grad(const KernelArgs& args) {
  const ConvGeometry g = conv_geometry(args.in[0].shape, args.out[0].shape, args.in[1].shape,
                                       without_size(args.attrs<ConvGradAttrs>()));
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::weight_grad);
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    if (is_empty<S>(args)) return;
    weight_grad<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
}

// A kernel of one point at every point is a product of matrices.
bool is_pointwise(const Shape& x, const Shape& w, const Shape& y) {
  for (int d = 2; d < w.rank(); ++d) {
    if (w[d] != 1 || x[d] != y[d]) return false;
  }
  return true;
}

Cost cost_with(const Call& call, const Shape& x, const Shape& w, const Shape& y) {
  const double per_output =
      static_cast<double>(element_count(w)) / static_cast<double>(std::max<std::int64_t>(w[0], 1));
  return {.flops = 2 * per_output * static_cast<double>(element_count(y)),
          .bytes = bytes_moved(call),
          .work = w[1] == 1               ? WorkKind::depthwise
                  : is_pointwise(x, w, y) ? WorkKind::contraction
                                          : WorkKind::convolution};
}

std::int64_t scratch_with(ConvPart part, DType dtype, const Shape& x, const Shape& w, const Shape& y,
                          const ConvAttrs& attrs) {
  const ConvGeometry g = conv_geometry(x, w, y, attrs);
  return g.is_depthwise() ? depthwise_blocks(g, part, dtype).scratch_bytes() : conv_scratch(g, part, dtype);
}

}  // namespace

const CpuKernel cpu::conv = cpu_kernel<ConvAttrs>(
    run_conv,
    {.cost = [](const Call& c) { return cost_with(c, c.in[0].shape, c.in[1].shape, c.out[0].shape); },
     .scratch =
         [](const Call& c) {
           return scratch_with(ConvPart::forward, c.in[0].dtype, c.in[0].shape, c.in[1].shape, c.out[0].shape,
                               c.attrs_as<ConvAttrs>());
         }});

const CpuKernel cpu::conv_input_grad = cpu_kernel<ConvGradAttrs>(
    run_input_grad,
    {.cost = [](const Call& c) { return cost_with(c, c.out[0].shape, c.in[1].shape, c.in[0].shape); },
     .scratch =
         [](const Call& c) {
           return scratch_with(ConvPart::input_grad, c.in[0].dtype, c.out[0].shape, c.in[1].shape,
                               c.in[0].shape, without_size(c.attrs_as<ConvGradAttrs>()));
         }});

const CpuKernel cpu::conv_weight_grad = cpu_kernel<ConvGradAttrs>(
    run_weight_grad,
    {.cost = [](const Call& c) { return cost_with(c, c.in[0].shape, c.out[0].shape, c.in[1].shape); },
     .scratch =
         [](const Call& c) {
           return scratch_with(ConvPart::weight_grad, c.in[0].dtype, c.in[0].shape, c.out[0].shape,
                               c.in[1].shape, without_size(c.attrs_as<ConvGradAttrs>()));
         }});

}  // namespace tidemark
