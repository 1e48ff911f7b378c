#include <algorithm>
#include <array>

#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/dispatched.h"
#include "tidemark/ops/registry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/ops/convolution/pool.cpu.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "tidemark/ops/normalization/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t work_per_task = 1 << 16;  // window elements

// 1-D and 2-D seen as 3-D.
struct Geometry {
  using Triple = std::array<std::int64_t, 3>;
  Triple in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, low{0, 0, 0};
  std::int64_t planes = 0, in_points = 1, out_points = 1, grain = 1;

  Geometry(const Shape& x, const Shape& y, const Dims& windows, const Dims& strides, const Dims& lows) {
    const int dims = x.rank() - 2;
    std::int64_t area = 1;
    for (int d = 0; d < dims; ++d) {
      const auto i = static_cast<std::size_t>(d + 3 - dims);
      in[i] = x[d + 2], out[i] = y[d + 2], window[i] = windows[d], stride[i] = strides[d], low[i] = lows[d];
      in_points *= in[i], out_points *= out[i], area *= window[i];
    }
    planes = x[0] * x[1];
    grain = std::max<std::int64_t>(1, work_per_task / std::max<std::int64_t>(1, out_points * area));
  }
};

struct Range {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};
// What of output position o's window lies inside, and which outputs' windows hold input position i.
Range window_of(const Geometry& g, std::size_t d, std::int64_t o) {
  const std::int64_t start = o * g.stride[d] - g.low[d];
  return {std::max<std::int64_t>(start, 0), std::min(start + g.window[d], g.in[d])};
}
Range outputs_of(const Geometry& g, std::size_t d, std::int64_t i) {
  const std::int64_t at = i + g.low[d], first = at - g.window[d] + 1;
  return {first <= 0 ? 0 : (first + g.stride[d] - 1) / g.stride[d], std::min(at / g.stride[d] + 1, g.out[d])};
}

// Calls f(i0, i1, row) for the rows i0, i1 of a box; `row` is where that row of the plane begins.
template <class F>
void for_each_row(const Geometry::Triple& size, Range r0, Range r1, const F& f) {
  for (std::int64_t i0 = r0.begin; i0 < r0.end; ++i0) {
    for (std::int64_t i1 = r1.begin; i1 < r1.end; ++i1) f(i0, i1, (i0 * size[1] + i1) * size[2]);
  }
}

// Outputs along the last dimension whose windows lie inside.
Range whole_windows(const Geometry& g) {
  const std::int64_t begin = (g.low[2] + g.stride[2] - 1) / g.stride[2];
  const std::int64_t room = g.in[2] + g.low[2] - g.window[2];
  const std::int64_t end = room < 0 ? 0 : std::min(room / g.stride[2] + 1, g.out[2]);
  return {std::min(begin, end), end};
}

// Element k of the windows of neighbouring outputs, of which `from` is that of the first. Reads nothing but
// those windows.
template <int Stride, class S>
HWY_INLINE rows::Vec<S> load_element(const S* from, std::int64_t k) {
  const rows::Tag<S> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (Stride == 1) return rows::load(d, from + k, lanes);
  if (k == 0) return hn::ConcatEven(d, rows::load(d, from + lanes, lanes), rows::load(d, from, lanes));
  return hn::ConcatOdd(d, rows::load(d, from + k - 1 + lanes, lanes), rows::load(d, from + k - 1, lanes));
}

// Where a row of outputs reads: rows of windows, and its first element in the plane of outputs.
struct OutputRow {
  Range r0, r1;
  std::int64_t out;
};

// Calls vectors<Stride, Window>(row, o2) for groups of neighbouring outputs with whole windows, and
// single(row, o2) for other outputs. The last group of a row may overlap the one before. Window 0: any.
template <int Stride, int Window, class V, class F>
HWY_INLINE void for_each_group(const Geometry& g, Range whole, std::int64_t lanes, const V& vectors,
                               const F& single) {
  for (std::int64_t o0 = 0; o0 < g.out[0]; ++o0) {
    for (std::int64_t o1 = 0; o1 < g.out[1]; ++o1) {
      const OutputRow r{window_of(g, 0, o0), window_of(g, 1, o1), (o0 * g.out[1] + o1) * g.out[2]};
      for (std::int64_t o = 0; o < whole.begin; ++o) single(r, o);
      for (std::int64_t o = whole.begin; o < whole.end; o += lanes)
        vectors.template operator()<Stride, Window>(r, std::min(o, whole.end - lanes));
      for (std::int64_t o = whole.end; o < g.out[2]; ++o) single(r, o);
    }
  }
}
template <class T, class V, class F>
HWY_INLINE void for_each_output(const Geometry& g, const V& vectors, const F& single) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t stride = g.stride[2], window = g.window[2];
  Range whole = whole_windows(g);
  if (stride > 2 || (stride == 2 && window < 2) || whole.count() < lanes) whole = {0, 0};
  if (stride == 2 && window == 2) {
    for_each_group<2, 2>(g, whole, lanes, vectors, single);
  } else if (stride == 2 && window == 3) {
    for_each_group<2, 3>(g, whole, lanes, vectors, single);
  } else if (stride == 2) {
    for_each_group<2, 0>(g, whole, lanes, vectors, single);
  } else if (window == 3) {
    for_each_group<1, 3>(g, whole, lanes, vectors, single);
  } else {
    for_each_group<1, 0>(g, whole, lanes, vectors, single);
  }
}

// The first of the largest, and of NaN the first, which counts as larger than all.
template <int Stride, int Window, class S>
HWY_INLINE void max_vector(const Geometry& g, const OutputRow& r, std::int64_t o2, const S* x, S* value,
                           std::int32_t* position) {
  using T = compute_t<S>;
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Index = hn::TFromD<decltype(di)>;
  const std::int64_t window = Window > 0 ? Window : g.window[2], start = o2 * Stride - g.low[2];
  const std::int64_t top = (r.r0.begin * g.in[1] + r.r1.begin) * g.in[2] + start;
  const auto count = hn::Iota(di, 0);
  const auto lane = Stride == 1 ? count : hn::Add(count, count);
  auto most = load_element<Stride>(x + top, 0);
  auto best = hn::Add(lane, hn::Set(di, static_cast<Index>(top)));
  for (std::int64_t i0 = r.r0.begin; i0 < r.r0.end; ++i0) {
    for (std::int64_t i1 = r.r1.begin; i1 < r.r1.end; ++i1) {
      const std::int64_t row = (i0 * g.in[1] + i1) * g.in[2] + start;
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < window; ++k) {
        const auto candidate = load_element<Stride>(x + row, k);
        const auto at = hn::Add(lane, hn::Set(di, static_cast<Index>(row + k)));
        const auto first_nan = hn::AndNot(hn::IsNaN(most), hn::IsNaN(candidate));
        const auto better = hn::Or(hn::Gt(candidate, most), first_nan);
        most = hn::IfThenElse(better, candidate, most);
        best = hn::IfThenElse(hn::RebindMask(di, better), at, best);
      }
    }
  }
  const std::int64_t to = r.out + o2;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if constexpr (sizeof(T) == 4) {
    hn::StoreU(best, di, position + to);
  } else {
    HWY_ALIGN Index wide[hn::MaxLanes(di)];
    hn::Store(best, di, wide);
    for (std::int64_t i = 0; i < lanes; ++i) position[to + i] = static_cast<std::int32_t>(wide[i]);
  }
  if constexpr (std::is_same_v<S, T>) {
    hn::StoreU(most, d, value + to);
  } else {
    for (std::int64_t i = 0; i < lanes; ++i) value[to + i] = x[position[to + i]];
  }
}
template <class S>
void max_single(const Geometry& g, const OutputRow& r, std::int64_t o2, const S* x, S* value,
                std::int32_t* position) {
  const Range r2 = window_of(g, 2, o2);
  std::int64_t best = (r.r0.begin * g.in[1] + r.r1.begin) * g.in[2] + r2.begin;
  auto most = static_cast<compute_t<S>>(x[best]);
  for_each_row(g.in, r.r0, r.r1, [&](std::int64_t, std::int64_t, std::int64_t row) {
    for (std::int64_t i = row + r2.begin; i < row + r2.end; ++i) {
      const auto candidate = static_cast<compute_t<S>>(x[i]);
      const bool first_nan = candidate != candidate && most == most;
      if (candidate > most || first_nan) most = candidate, best = i;
    }
  });
  value[r.out + o2] = x[best];
  position[r.out + o2] = static_cast<std::int32_t>(best);
}
template <class S>
void max_plane(const Geometry& g, const S* x, S* value, std::int32_t* position) {
  for_each_output<compute_t<S>>(
      g,
      [&]<int Stride, int Window>(const OutputRow& r, std::int64_t o2)
          HWY_ATTR { max_vector<Stride, Window>(g, r, o2, x, value, position); },
      [&](const OutputRow& r, std::int64_t o2) { max_single(g, r, o2, x, value, position); });
}

template <int Stride, int Window, class S>
HWY_INLINE void average_vector(const Geometry& g, const OutputRow& r, std::int64_t o2, const S* x, S* y) {
  using T = compute_t<S>;
  const hn::ScalableTag<T> d;
  const std::int64_t window = Window > 0 ? Window : g.window[2], start = o2 * Stride - g.low[2];
  auto sum = hn::Zero(d);
  for (std::int64_t i0 = r.r0.begin; i0 < r.r0.end; ++i0) {
    for (std::int64_t i1 = r.r1.begin; i1 < r.r1.end; ++i1) {
      const S* from = x + (i0 * g.in[1] + i1) * g.in[2] + start;
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < window; ++k) sum = hn::Add(sum, load_element<Stride>(from, k));
    }
  }
  const auto count = hn::Set(d, static_cast<T>(r.r0.count() * r.r1.count() * window));
  rows::store(d, y + r.out + o2, hn::Lanes(d), hn::Div(sum, count));
}
template <class S>
void average_single(const Geometry& g, const OutputRow& r, std::int64_t o2, const S* x, S* y) {
  using T = compute_t<S>;
  const Range r2 = window_of(g, 2, o2);
  T sum = 0;
  for_each_row(g.in, r.r0, r.r1, [&](std::int64_t, std::int64_t, std::int64_t row) {
    for (std::int64_t i = row + r2.begin; i < row + r2.end; ++i) sum += static_cast<T>(x[i]);
  });
  y[r.out + o2] = static_cast<S>(sum / static_cast<T>(r.r0.count() * r.r1.count() * r2.count()));
}
template <class S>
void average_plane(const Geometry& g, const S* x, S* y) {
  for_each_output<compute_t<S>>(
      g,
      [&]<int Stride, int Window>(const OutputRow& r, std::int64_t o2)
          HWY_ATTR { average_vector<Stride, Window>(g, r, o2, x, y); },
      [&](const OutputRow& r, std::int64_t o2) { average_single(g, r, o2, x, y); });
}

// A row of x at a time, in pieces; each element's shares come in the order of the outputs. Summed before it
// is stored, so that a narrow result is rounded once.
template <class S>
void spread_plane(const Geometry& g, const S* y, S* x) {
  using T = compute_t<S>;
  constexpr std::int64_t piece = 512, together = 256;
  const rows::Tag<S> d;
  const Range whole = whole_windows(g);
  for_each_row(
      g.in, {0, g.in[0]}, {0, g.in[1]}, [&](std::int64_t i0, std::int64_t i1, std::int64_t row) HWY_ATTR {
        for (std::int64_t left = 0; left < g.in[2]; left += piece) {
          const std::int64_t right = std::min(left + piece, g.in[2]);
          T sums[piece] = {}, shares[together];
          const Range touched{outputs_of(g, 2, left).begin, outputs_of(g, 2, right - 1).end};
          for_each_row(
              g.out, outputs_of(g, 0, i0), outputs_of(g, 1, i1),
              [&](std::int64_t o0, std::int64_t o1, std::int64_t out) HWY_ATTR {
                const std::int64_t height = window_of(g, 0, o0).count() * window_of(g, 1, o1).count();
                const auto area = hn::Set(d, static_cast<T>(height * g.window[2]));
                for (std::int64_t first = touched.begin; first < touched.end; first += together) {
                  const std::int64_t last = std::min(first + together, touched.end);
                  rows::map(d, static_cast<std::size_t>(last - first), shares,
                            [&](std::size_t i, std::size_t n)
                                HWY_ATTR { return hn::Div(rows::load(d, y + out + first + i, n), area); });
                  for (std::int64_t o = first; o < last; ++o) {
                    if (o >= whole.begin && o < whole.end) continue;
                    shares[o - first] =
                        static_cast<T>(y[out + o]) / static_cast<T>(height * window_of(g, 2, o).count());
                  }
                  for (std::int64_t k = g.window[2] - 1; k >= 0;
                       --k) {  // later outputs reach an element with earlier k
                    const std::int64_t base = k - g.low[2];
                    const auto up = [&](std::int64_t a) {
                      return a <= 0 ? 0 : (a + g.stride[2] - 1) / g.stride[2];
                    };
                    const std::int64_t begin = std::max(first, up(left - base)),
                                       end = std::min(last, up(right - base));
                    for (std::int64_t o = begin; o < end; ++o)
                      sums[o * g.stride[2] + base - left] += shares[o - first];
                  }
                }
              });
          rows::map(d, static_cast<std::size_t>(right - left), x + row + left,
                    [&](std::size_t i, std::size_t n) HWY_ATTR { return rows::load(d, sums + i, n); });
        }
      });
}

// Calls f<S>(plane) for every plane of every image.
template <class F>
void for_each_plane(const KernelArgs& args, const Geometry& g, const F& f) {
  dispatch_float(args.in[0].dtype, [&]<class S>() {
    parallel_for(*args.pool, g.planes, g.grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane) f.template operator()<S>(plane);
    });
  });
}

void max_pool(const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolAttrs>();
  const Geometry g(args.in[0].shape, args.out[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    max_plane(g, args.in[0].as<S>() + plane * g.in_points, args.out[0].as<S>() + plane * g.out_points,
              args.out[1].as<std::int32_t>() + plane * g.out_points);
  });
}

void avg_pool(const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolAttrs>();
  const Geometry g(args.in[0].shape, args.out[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    average_plane(g, args.in[0].as<S>() + plane * g.in_points, args.out[0].as<S>() + plane * g.out_points);
  });
}

void avg_pool_grad(const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolGradAttrs>();
  const Geometry g(args.out[0].shape, args.in[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    spread_plane(g, args.in[0].as<S>() + plane * g.out_points, args.out[0].as<S>() + plane * g.in_points);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {

Cost cost_with(const Call& call, double flops, std::int64_t outputs, const Dims& window) {
  return {.flops = flops * static_cast<double>(outputs) * static_cast<double>(element_count(window)),
          .bytes = bytes_moved(call)};
}

Cost cost_max(const Call& c) { return cost_with(c, 7, c.out[0].count(), c.attrs_as<PoolAttrs>().window); }
Cost cost_avg(const Call& c) { return cost_with(c, 3, c.out[0].count(), c.attrs_as<PoolAttrs>().window); }
Cost cost_avg_grad(const Call& c) {
  return cost_with(c, 4, c.in[0].count(), c.attrs_as<PoolGradAttrs>().window);
}

}  // namespace

TM_DISPATCHED_KERNEL(max_pool, PoolAttrs, max_pool, .cost = cost_max);
TM_DISPATCHED_KERNEL(avg_pool, PoolAttrs, avg_pool, .cost = cost_avg);
TM_DISPATCHED_KERNEL(avg_pool_grad, PoolGradAttrs, avg_pool_grad, .cost = cost_avg_grad);

}  // namespace tidemark
#endif  // HWY_ONCE
