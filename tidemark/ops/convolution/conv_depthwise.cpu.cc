#include "tidemark/ops/convolution/conv_depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/convolution/conv_depthwise.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "tidemark/kernel/tile_convert.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Some taps of a sum: where each reads the frame, and its weight.
template <class T>
struct Taps {
  static constexpr int capacity = 32;
  const T* at[capacity];
  T weight[capacity];
  int count = 0;
};

// out[i] (+)= Σ weight · at[i] for i in [0, n) and up to a vector beyond.
template <class T, int Vectors>
HWY_INLINE void sum_vectors(const Taps<T>& taps, std::int64_t i, bool add, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[Vectors];
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) sum[v] = add ? hn::LoadU(d, out + i + v * lanes) : hn::Zero(d);
  for (int tap = 0; tap < taps.count; ++tap) {
    const auto weight = hn::Set(d, taps.weight[tap]);
    const T* from = taps.at[tap] + i;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[v] = hn::MulAdd(weight, hn::LoadU(d, from + v * lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) hn::StoreU(sum[v], d, out + i + v * lanes);
}
template <class T>
void sum_taps(const Taps<T>& taps, std::int64_t n, bool add, T* out) {
  const hn::ScalableTag<T> d;
  static_assert(8 * hn::MaxLanes(d) <= depthwise_slack);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes) sum_vectors<T, 8>(taps, i, add, out);
  for (; i + 3 * lanes <= n; i += 3 * lanes) sum_vectors<T, 3>(taps, i, add, out);
  for (; i < n; i += lanes) sum_vectors<T, 1>(taps, i, add, out);
}

// The elements by which `dots` may read beyond the end.
constexpr std::int64_t dot_vectors = 2 * hn::MaxLanes(hn::ScalableTag<float>());

// sums[t] += Σ g[i] at[t][i], for Count taps at once. g is 0 from n on.
template <class T, int Count>
void dots(std::int64_t n, const T* g, const T* const* at, double* sums) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> even[Count], odd[Count];
  for (int t = 0; t < Count; ++t) even[t] = odd[t] = hn::Zero(d);
  for (std::int64_t i = 0; i < n; i += 2 * lanes) {
    const auto a = hn::LoadU(d, g + i), b = hn::LoadU(d, g + i + lanes);
#pragma GCC unroll 8
    for (int t = 0; t < Count; ++t) {
      even[t] = hn::MulAdd(a, hn::LoadU(d, at[t] + i), even[t]);
      odd[t] = hn::MulAdd(b, hn::LoadU(d, at[t] + i + lanes), odd[t]);
    }
  }
  for (int t = 0; t < Count; ++t)
    sums[t] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(even[t], odd[t]))));
}
template <class T>
void dots(const Taps<T>& taps, std::int64_t n, const T* g, double* sums) {
  constexpr int most = 5;
  const int groups = (taps.count + most - 1) / most;
  for (int group = 0, t = 0; group < groups; ++group) {
    const int end = taps.count * (group + 1) / groups;
    switch (end - t) {
      case 5:
        dots<T, 5>(n, g, taps.at + t, sums + t);
        break;
      case 4:
        dots<T, 4>(n, g, taps.at + t, sums + t);
        break;
      case 3:
        dots<T, 3>(n, g, taps.at + t, sums + t);
        break;
      case 2:
        dots<T, 2>(n, g, taps.at + t, sums + t);
        break;
      default:
        dots<T, 1>(n, g, taps.at + t, sums + t);
        break;
    }
    t = end;
  }
}

// Positions q in [0, limit) for which first + q · step lies in [0, size).
struct Span {
  std::int64_t begin, end;
};
Span inside(std::int64_t first, std::int64_t step, std::int64_t size, std::int64_t limit) {
  const std::int64_t begin = first >= 0 ? 0 : std::min((-first + step - 1) / step, limit);
  const std::int64_t end = first >= size ? 0 : (size - first + step - 1) / step;
  return {begin, std::clamp(end, begin, limit)};
}

// A lattice in a plane of rows × cols: rows first_row + q · row_step, columns likewise.
struct Lattice {
  std::int64_t rows, cols;
  std::int64_t first_row, row_step, first_col, col_step;
};

template <class S>
struct Worker {
  using T = compute_t<S>;
  const ConvGeometry& g;
  const DepthwiseBlocks& b;
  T *frame, *result;
  double* sums;
  TileLoad load = tile_load(dtype_of<S>, true);
  TileStore store = tile_store(dtype_of<S>);

  Worker(const ConvGeometry& geometry, const DepthwiseBlocks& blocks, std::byte* scratch)
      : g(geometry),
        b(blocks),
        frame(reinterpret_cast<T*>(scratch)),
        result(frame + b.frame),
        sums(reinterpret_cast<double*>(result + b.result)) {}

  // The lattice of a plane as `count` rows of `width` at the pitch, 0 outside of the plane and from `width`
  // to the pitch.
  void read(const S* plane, const Lattice& l, std::int64_t count, std::int64_t width, T* to) const {
    const Span cols = inside(l.first_col, l.col_step, l.cols, width);
    for (std::int64_t q = 0; q < count; ++q, to += b.pitch) {
      const std::int64_t row = l.first_row + q * l.row_step;
      if (row < 0 || row >= l.rows || cols.begin == cols.end) {
        std::fill(to, to + b.pitch, T(0));
        continue;
      }
      std::fill(to, to + cols.begin, T(0));
      load(reinterpret_cast<const std::byte*>(plane + row * l.cols + l.first_col + cols.begin * l.col_step),
           l.col_step, cols.end - cols.begin, reinterpret_cast<std::byte*>(to + cols.begin));
      std::fill(to + cols.end, to + b.pitch, T(0));
    }
  }

  // The result's rows to where they belong on a lattice of a plane; what lies outside is left out.
  void write(const T* from, const Lattice& l, std::int64_t count, S* plane) const {
    const Span cols = inside(l.first_col, l.col_step, l.cols, b.cols);
    for (std::int64_t q = 0; q < count; ++q, from += b.pitch) {
      const std::int64_t row = l.first_row + q * l.row_step;
      if (row < 0 || row >= l.rows) continue;
      S* to = plane + row * l.cols + l.first_col;
      if (l.col_step == 1) {
        copy_out(from + cols.begin, cols.end - cols.begin, to + cols.begin);
      } else {
        for (std::int64_t j = cols.begin; j < cols.end; ++j) to[j * l.col_step] = static_cast<S>(from[j]);
      }
    }
  }
  void copy_out(const T* from, std::int64_t n, S* to) const {
    if constexpr (std::is_same_v<S, T>) {
      std::copy(from, from + n, to);
    } else {
      store(reinterpret_cast<const std::byte*>(from), n, reinterpret_cast<std::byte*>(to));
    }
  }

  std::int64_t rows_of(std::int64_t block, std::int64_t all) const {
    return std::min(b.rows, all - block * b.rows);
  }

  // Every phase that some tap reads, of slice i0 of a plane of x, for the output rows from `first` on.
  void frame_input(const S* plane, std::int64_t i0, std::int64_t first, std::int64_t rows) const {
    for (std::int64_t p1 = 0; p1 < g.stride[1]; ++p1) {
      for (std::int64_t p2 = 0; p2 < g.stride[2]; ++p2) {
        const Lattice lattice{g.in[1],     g.in[2],       first * g.stride[1] + p1 - g.low[1],
                              g.stride[1], p2 - g.low[2], g.stride[2]};
        T* to = input_phase(p1, p2);
        read(plane + i0 * g.in[1] * g.in[2], lattice, rows + b.halo, b.pitch, to);
        // What vectors read beyond the last row, until the next phase overwrites it: other lanes than a
        // sum's, but factors in a dot product, where they meet zeros and must be numbers.
        T* end = to + (rows + b.halo) * b.pitch;
        std::fill(end, end + dot_vectors, T(0));
      }
    }
  }
  T* input_phase(std::int64_t p1, std::int64_t p2) const {
    return frame + (p1 * g.stride[2] + p2) * (b.rows + b.halo) * b.pitch;
  }
  // Where tap (k1, k2) of an output at (0, 0) reads the framed input.
  const T* input_tap(std::int64_t k1, std::int64_t k2) const {
    const std::int64_t j1 = k1 * g.dilation[1], j2 = k2 * g.dilation[2];
    return input_phase(j1 % g.stride[1], j2 % g.stride[2]) + j1 / g.stride[1] * b.pitch + j2 / g.stride[2];
  }

  // The taps of slice k0 in order, `Taps::capacity` at a time: f(taps, index of the first).
  template <class F>
  void for_each_input_taps(const S* weights, std::int64_t k0, const F& f) const {
    Taps<T> taps;
    const std::int64_t slice = g.kernel[1] * g.kernel[2];
    for (std::int64_t tap = 0; tap < slice; ++tap) {
      taps.at[taps.count] = input_tap(tap / g.kernel[2], tap % g.kernel[2]);
      taps.weight[taps.count++] = weights ? static_cast<T>(weights[k0 * slice + tap]) : T(0);
      if (taps.count == Taps<T>::capacity || tap + 1 == slice) {
        f(taps, k0 * slice + tap + 1 - taps.count);
        taps.count = 0;
      }
    }
  }

  void forward(std::int64_t plane, const S* x, const S* w, S* y) const {
    const S* from = x + plane * g.in_points;
    for (std::int64_t o0 = 0; o0 < g.out[0]; ++o0) {
      for (std::int64_t block = 0; block < b.row_blocks; ++block) {
        const std::int64_t first = block * b.rows, rows = rows_of(block, g.out[1]);
        for (std::int64_t o = 0; o < g.group_out; ++o) {
          bool add = false;
          for (std::int64_t k0 = 0; k0 < g.kernel[0]; ++k0) {
            const std::int64_t i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.low[0];
            if (i0 < 0 || i0 >= g.in[0]) continue;
            if (o == 0 || g.kernel[0] > 1) frame_input(from, i0, first, rows);
            const S* weights = w + (plane % g.groups * g.group_out + o) * g.taps;
            for_each_input_taps(weights, k0, [&](const Taps<T>& taps, std::int64_t) {
              sum_taps(taps, (rows - 1) * b.pitch + b.cols, add, result);
              add = true;
            });
          }
          if (!add) std::fill(result, result + rows * b.pitch, T(0));
          S* to = y + (plane * g.group_out + o) * g.out_points + o0 * g.out[1] * g.out[2];
          write(result, {g.out[1], g.out[2], first, 1, 0, 1}, rows, to);
        }
      }
    }
  }

  // x at padded position v · stride + phase reads y at v - m for the taps k with k dilation = m stride +
  // phase.
  void input_grad(std::int64_t plane, const S* y, const S* w, S* x) const {
    const std::int64_t base1 = g.low[1] / g.stride[1], base2 = g.low[2] / g.stride[2];
    const std::int64_t all = (g.in[1] - 1 + g.low[1]) / g.stride[1] - base1 + 1, over = b.pitch - b.cols;
    const std::int64_t result_phase = b.rows * b.pitch + depthwise_slack;
    for (std::int64_t i0 = 0; i0 < g.in[0]; ++i0) {
      for (std::int64_t block = 0; block < b.row_blocks; ++block) {
        const std::int64_t first = base1 + block * b.rows, rows = rows_of(block, all);
        std::fill(result, result + b.result, T(0));
        for (std::int64_t o = 0; o < g.group_out; ++o) {
          const S* from = y + (plane * g.group_out + o) * g.out_points;
          const S* weights = w + (plane % g.groups * g.group_out + o) * g.taps;
          for (std::int64_t k0 = 0; k0 < g.kernel[0]; ++k0) {
            const std::int64_t u0 = i0 + g.low[0] - k0 * g.dilation[0];
            if (u0 < 0 || u0 % g.stride[0] != 0 || u0 / g.stride[0] >= g.out[0]) continue;
            read(from + u0 / g.stride[0] * g.out[1] * g.out[2],
                 {g.out[1], g.out[2], first - b.halo, 1, base2 - over, 1}, rows + b.halo, b.pitch, frame);
            for (std::int64_t phase = 0; phase < b.phases; ++phase) {
              add_phase(phase, weights + k0 * g.kernel[1] * g.kernel[2], rows, result + phase * result_phase);
            }
          }
        }
        for (std::int64_t phase = 0; phase < b.phases; ++phase) {
          const std::int64_t p1 = phase / g.stride[2], p2 = phase % g.stride[2];
          const Lattice lattice{g.in[1],
                                g.in[2],
                                first * g.stride[1] + p1 - g.low[1],
                                g.stride[1],
                                base2 * g.stride[2] + p2 - g.low[2],
                                g.stride[2]};
          write(result + phase * result_phase, lattice, rows,
                x + plane * g.in_points + i0 * g.in[1] * g.in[2]);
        }
      }
    }
  }
  void add_phase(std::int64_t phase, const S* weights, std::int64_t rows, T* to) const {
    const std::int64_t p1 = phase / g.stride[2], p2 = phase % g.stride[2], over = b.pitch - b.cols;
    const std::int64_t n = (rows - 1) * b.pitch + b.cols;
    Taps<T> taps;
    const auto flush = [&] {
      if (taps.count > 0) sum_taps(taps, n, true, to);
      taps.count = 0;
    };
    for (std::int64_t k1 = 0; k1 < g.kernel[1]; ++k1) {
      const std::int64_t j1 = k1 * g.dilation[1];
      if (j1 % g.stride[1] != p1) continue;
      for (std::int64_t k2 = 0; k2 < g.kernel[2]; ++k2) {
        const std::int64_t j2 = k2 * g.dilation[2];
        if (j2 % g.stride[2] != p2) continue;
        taps.at[taps.count] = frame + (b.halo - j1 / g.stride[1]) * b.pitch + over - j2 / g.stride[2];
        taps.weight[taps.count++] = static_cast<T>(weights[k1 * g.kernel[2] + k2]);
        if (taps.count == Taps<T>::capacity) flush();
      }
    }
    flush();
  }

  void weight_grad(std::int64_t o, const S* x, const S* y, S* w) const {
    const std::int64_t channels = g.groups * g.group_out;
    std::fill(sums, sums + g.taps, 0.0);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      const S* from = x + (n * g.groups + o / g.group_out) * g.in_points;
      const S* grad = y + (n * channels + o) * g.out_points;
      for (std::int64_t o0 = 0; o0 < g.out[0]; ++o0) {
        for (std::int64_t block = 0; block < b.row_blocks; ++block) {
          const std::int64_t first = block * b.rows, rows = rows_of(block, g.out[1]);
          read(grad + o0 * g.out[1] * g.out[2], {g.out[1], g.out[2], first, 1, 0, 1}, rows, b.cols, result);
          std::fill(result + rows * b.pitch, result + rows * b.pitch + depthwise_slack, T(0));
          for (std::int64_t k0 = 0; k0 < g.kernel[0]; ++k0) {
            const std::int64_t i0 = o0 * g.stride[0] + k0 * g.dilation[0] - g.low[0];
            if (i0 < 0 || i0 >= g.in[0]) continue;
            frame_input(from, i0, first, rows);
            for_each_input_taps(nullptr, k0, [&](const Taps<T>& taps, std::int64_t tap) {
              dots(taps, (rows - 1) * b.pitch + b.cols, result, sums + tap);
            });
          }
        }
      }
    }
    for (std::int64_t tap = 0; tap < g.taps; ++tap)
      w[o * g.taps + tap] = static_cast<S>(static_cast<T>(sums[tap]));
  }
};

void depthwise(const KernelArgs& args, const ConvGeometry& g, ConvPart part) {
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    const S *left = args.in[0].as<S>(), *right = args.in[1].as<S>();
    S* out = args.out[0].as<S>();
    const DepthwiseBlocks b = depthwise_blocks(g, part, args.in[0].dtype);
    if (b.tasks == 0) return std::fill(out, out + args.out[0].count(), S(0.0f));
    args.pool->run(b.slots, [&](std::int64_t slot) {
      const Worker<S> worker(g, b, args.scratch + slot * b.slot_bytes);
      for (std::int64_t task = slot; task < b.tasks; task += b.slots) {
        const std::int64_t end = std::min((task + 1) * b.planes_per_task, b.planes);
        for (std::int64_t plane = task * b.planes_per_task; plane < end; ++plane) {
          if (part == ConvPart::forward) {
            worker.forward(plane, left, right, out);
          } else if (part == ConvPart::input_grad) {
            worker.input_grad(plane, left, right, out);
          } else {
            worker.weight_grad(plane, left, right, out);
          }
        }
      }
    });
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
HWY_EXPORT(depthwise);
void run_depthwise(const KernelArgs& args, const ConvGeometry& g, ConvPart part) {
  HWY_DYNAMIC_DISPATCH(depthwise)(args, g, part);
}
}  // namespace tidemark
#endif  // HWY_ONCE
