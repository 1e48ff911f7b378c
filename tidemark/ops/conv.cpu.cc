// The three kernels of a convolution: blocks of patches packed into a slot of scratch, then BLAS.
#include <algorithm>
#include <type_traits>

#include "tidemark/kernel/blas.h"
#include "tidemark/ops/conv_depthwise.h"
#include "tidemark/ops/conv_geometry.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

template <class S>
inline constexpr bool is_wide = std::is_floating_point_v<S>;

template <class To, class From>
void convert(const From* from, std::int64_t from_row, To* to, std::int64_t to_row, std::int64_t rows,
             std::int64_t cols) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) to[i * to_row + j] = static_cast<To>(from[i * from_row + j]);
  }
}

struct Block {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};
Block block_at(std::int64_t index, std::int64_t size, std::int64_t whole) {
  return {index * size, std::min((index + 1) * size, whole)};
}

template <class S>
void pack_patches(const ConvGeometry& g, const S* x, Block rows, Block points, compute_t<S>* panel) {
  using T = compute_t<S>;
  const std::int64_t step = g.stride[2];
  for (std::int64_t row = rows.begin; row < rows.end; ++row, panel += points.count()) {
    for_each_run(g, row, points.begin, points.end,
                 [&](std::int64_t at, std::int64_t length, std::int64_t from) {
                   T* to = panel + at;
                   if (from < 0) {
                     std::fill(to, to + length, T(0));
                   } else if (step == 1) {
                     for (std::int64_t j = 0; j < length; ++j) to[j] = static_cast<T>(x[from + j]);
                   } else {
                     for (std::int64_t j = 0; j < length; ++j) to[j] = static_cast<T>(x[from + j * step]);
                   }
                 });
  }
}

template <class T>
void add_patches(const ConvGeometry& g, const T* panel, Block rows, Block points, T* x) {
  const std::int64_t step = g.stride[2];
  for (std::int64_t row = rows.begin; row < rows.end; ++row, panel += points.count()) {
    for_each_run(g, row, points.begin, points.end,
                 [&](std::int64_t at, std::int64_t length, std::int64_t to) {
                   if (to < 0) return;
                   for (std::int64_t j = 0; j < length; ++j) x[to + j * step] += panel[at + j];
                 });
  }
}

// Weights as BLAS reads them: the operand itself, or its copy in f32 in shared scratch.
template <class S>
const compute_t<S>* compute_weights(const KernelArgs& args, const ConvGeometry& g, const S* w) {
  if constexpr (is_wide<S>) {
    return w;
  } else {
    auto* copy = reinterpret_cast<compute_t<S>*>(args.scratch);
    parallel_for(*args.pool, g.groups * g.group_out * g.depth, 1 << 14,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) copy[i] = static_cast<compute_t<S>>(w[i]);
                 });
    return copy;
  }
}

// f(task, slot's scratch) for every task; those of a slot one after the other.
template <class F>
void run_slots(const KernelArgs& args, const ConvBlocks& b, const F& f) {
  args.pool->run(b.slots, [&](std::int64_t slot) {
    for (std::int64_t task = slot; task < b.tasks; task += b.slots)
      f(task, args.scratch + b.shared + slot * b.slot_bytes());
  });
}

template <class S>
void forward(const KernelArgs& args, const ConvGeometry& g, const S* x, const S* w, S* y) {
  using T = compute_t<S>;
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::forward);
  const std::int64_t in_image = g.group_in * g.in_points, out_image = g.group_out * g.out_points;
  if constexpr (is_wide<S>) {
    if (g.is_pointwise()) {
      const blas::Batch batch{{g.batch, g.groups},
                              {0, g.group_out * g.depth},
                              {g.groups * in_image, in_image},
                              {g.groups * out_image, out_image}};
      blas::gemm<S>(*args.pool, batch, g.group_out, g.out_points, g.depth, S(1), {w, g.depth, 1},
                    {x, g.in_points, 1}, S(0), {y, g.out_points, 1});
      return;
    }
  }
  const ConvBlocks b = conv_blocks(g, ConvPart::forward, args.in[0].dtype);
  if (b.tasks == 0) return std::fill(y, y + g.batch * g.groups * out_image, S(0.0f));
  const T* weights = compute_weights(args, g, w);
  run_slots(args, b, [&](std::int64_t task, std::byte* scratch) {
    const std::int64_t image = task / b.point_blocks, group = image % g.groups;
    const Block points = block_at(task % b.point_blocks, b.points, g.out_points);
    T* panel = reinterpret_cast<T*>(scratch);
    T* stage = reinterpret_cast<T*>(scratch + b.panel);
    S* to = y + image * out_image + points.begin;
    blas::Matrix<T> sum{stage, points.count(), 1};
    if constexpr (is_wide<S>) sum = {to, g.out_points, 1};
    for (std::int64_t r = 0; r < b.row_blocks; ++r) {
      const Block rows = block_at(r, b.rows, g.depth);
      pack_patches(g, x + image * in_image, rows, points, panel);
      blas::gemm_serial<T>(g.group_out, points.count(), rows.count(), T(1),
                           {weights + group * g.group_out * g.depth + rows.begin, g.depth, 1},
                           {panel, points.count(), 1}, T(r > 0), sum);
    }
    if constexpr (!is_wide<S>) convert(stage, points.count(), to, g.out_points, g.group_out, points.count());
  });
}

// A task owns whole channels of one image, so what it adds to is its own; output points come in order.
template <class S>
void input_grad(const KernelArgs& args, const ConvGeometry& g, const S* y, const S* w, S* x) {
  using T = compute_t<S>;
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::input_grad);
  const std::int64_t in_image = g.group_in * g.in_points, out_image = g.group_out * g.out_points;
  if constexpr (is_wide<S>) {
    if (g.is_pointwise()) {
      const blas::Batch batch{{g.batch, g.groups},
                              {0, g.group_out * g.depth},
                              {g.groups * out_image, out_image},
                              {g.groups * in_image, in_image}};
      blas::gemm<S>(*args.pool, batch, g.depth, g.out_points, g.group_out, S(1), {w, 1, g.depth},
                    {y, g.out_points, 1}, S(0), {x, g.in_points, 1});
      return;
    }
  }
  const ConvBlocks b = conv_blocks(g, ConvPart::input_grad, args.in[0].dtype);
  if (b.tasks == 0) return std::fill(x, x + g.batch * g.groups * in_image, S(0.0f));
  const T* weights = compute_weights(args, g, w);
  run_slots(args, b, [&](std::int64_t task, std::byte* scratch) {
    const std::int64_t image = task / b.row_blocks, group = image % g.groups;
    const Block rows = block_at(task % b.row_blocks, b.rows, g.depth);
    const std::int64_t first = rows.begin / g.taps * g.in_points, count = rows.count() / g.taps * g.in_points;
    T* panel = reinterpret_cast<T*>(scratch);
    T* stage = reinterpret_cast<T*>(scratch + b.panel);
    S* to = x + image * in_image + first;
    T* sum = reinterpret_cast<T*>(scratch + b.panel + b.stage);
    if constexpr (is_wide<S>) sum = to;
    std::fill(sum, sum + count, T(0));
    for (std::int64_t q = 0; q < b.point_blocks; ++q) {
      const Block points = block_at(q, b.points, g.out_points);
      const S* from = y + image * out_image + points.begin;
      blas::Matrix<const T> grad{stage, points.count(), 1};
      if constexpr (is_wide<S>) {
        grad = {from, g.out_points, 1};
      } else {
        convert(from, g.out_points, stage, points.count(), g.group_out, points.count());
      }
      blas::gemm_serial<T>(rows.count(), points.count(), g.group_out, T(1),
                           {weights + group * g.group_out * g.depth + rows.begin, 1, g.depth}, grad, T(0),
                           {panel, points.count(), 1});
      add_patches(g, panel, rows, points, sum - first);
    }
    if constexpr (!is_wide<S>) convert(sum, count, to, count, 1, count);
  });
}

// A task owns some rows of the patches, that is columns of the weights, and a chunk of the batch. Chunks sum apart and
// are added in order at the end.
template <class S>
void weight_grad(const KernelArgs& args, const ConvGeometry& g, const S* x, const S* y, S* w) {
  using T = compute_t<S>;
  if (g.is_depthwise()) return run_depthwise(args, g, ConvPart::weight_grad);
  const std::int64_t in_image = g.group_in * g.in_points, out_image = g.group_out * g.out_points;
  const std::int64_t weights = g.groups * g.group_out * g.depth;
  const ConvBlocks b = conv_blocks(g, ConvPart::weight_grad, args.in[0].dtype);
  if constexpr (is_wide<S>) {
    if (g.is_pointwise() && g.batch > 0) {
      const blas::Batch batch{{g.groups}, {out_image}, {in_image}, {g.group_out * g.depth}};
      for (std::int64_t n = 0; n < g.batch; ++n) {
        blas::gemm<S>(*args.pool, batch, g.group_out, g.depth, g.out_points, S(1),
                      {y + n * g.groups * out_image, g.out_points, 1},
                      {x + n * g.groups * in_image, 1, g.in_points}, S(n > 0), {w, g.depth, 1});
      }
      return;
    }
  }
  if (b.tasks == 0) return std::fill(w, w + weights, S(0.0f));
  T* sums = reinterpret_cast<T*>(args.scratch);
  if constexpr (is_wide<S>) {
    if (b.chunks == 1) sums = w;
  }
  const std::int64_t chunk_size = (g.batch + b.chunks - 1) / b.chunks;
  run_slots(args, b, [&](std::int64_t task, std::byte* scratch) {
    const std::int64_t chunk = task / (g.groups * b.row_blocks), group = task / b.row_blocks % g.groups;
    const Block rows = block_at(task % b.row_blocks, b.rows, g.depth);
    const Block images = block_at(chunk, chunk_size, g.batch);
    T* panel = reinterpret_cast<T*>(scratch);
    T* stage = reinterpret_cast<T*>(scratch + b.panel);
    const blas::Matrix<T> sum{sums + chunk * weights + group * g.group_out * g.depth + rows.begin, g.depth,
                              1};
    if (images.count() <= 0) blas::gemm_serial<T>(g.group_out, rows.count(), 0, T(0), {}, {}, T(0), sum);
    for (std::int64_t n = images.begin; n < images.end; ++n) {
      for (std::int64_t q = 0; q < b.point_blocks; ++q) {
        const Block points = block_at(q, b.points, g.out_points);
        const S* from = y + (n * g.groups + group) * out_image + points.begin;
        blas::Matrix<const T> grad{stage, points.count(), 1};
        if constexpr (is_wide<S>) {
          grad = {from, g.out_points, 1};
        } else {
          convert(from, g.out_points, stage, points.count(), g.group_out, points.count());
        }
        pack_patches(g, x + (n * g.groups + group) * in_image, rows, points, panel);
        blas::gemm_serial<T>(g.group_out, rows.count(), points.count(), T(1), grad,
                             {panel, 1, points.count()}, T(n > images.begin || q > 0), sum);
      }
    }
  });
  if (b.chunks == 1 && is_wide<S>) return;
  parallel_for(*args.pool, weights, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T total = sums[i];
      for (std::int64_t chunk = 1; chunk < b.chunks; ++chunk) total += sums[chunk * weights + i];
      w[i] = static_cast<S>(total);
    }
  });
}

ConvAttrs without_size(const ConvGradAttrs& a) {
  return {.stride = a.stride, .low = a.low, .high = a.high, .dilation = a.dilation, .groups = a.groups};
}

}  // namespace

const CpuKernel cpu::conv = cpu_kernel<ConvAttrs>([](const KernelArgs& args) {
  const ConvGeometry g =
      conv_geometry(args.in[0].shape, args.in[1].shape, args.out[0].shape, args.attrs<ConvAttrs>());
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    forward<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
});

const CpuKernel cpu::conv_input_grad = cpu_kernel<ConvGradAttrs>([](const KernelArgs& args) {
  const ConvGeometry g = conv_geometry(args.out[0].shape, args.in[1].shape, args.in[0].shape,
                                       without_size(args.attrs<ConvGradAttrs>()));
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    input_grad<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
});

const CpuKernel cpu::conv_weight_grad = cpu_kernel<ConvGradAttrs>([](const KernelArgs& args) {
  const ConvGeometry g = conv_geometry(args.in[0].shape, args.out[0].shape, args.in[1].shape,
                                       without_size(args.attrs<ConvGradAttrs>()));
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    weight_grad<S>(args, g, args.in[0].as<S>(), args.in[1].as<S>(), args.out[0].as<S>());
  });
});

}  // namespace tidemark
