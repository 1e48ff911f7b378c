#include <algorithm>
#include <array>

#include "tidemark/ops/pool.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr std::int64_t work_per_task = 1 << 15;  // window elements

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

template <class F>
void for_each_point(const Geometry::Triple& size, const F& f) {
  std::int64_t index = 0;
  for (std::int64_t i0 = 0; i0 < size[0]; ++i0) {
    for (std::int64_t i1 = 0; i1 < size[1]; ++i1) {
      for (std::int64_t i2 = 0; i2 < size[2]; ++i2) f(i0, i1, i2, index++);
    }
  }
}

// Calls f(i0, i1, row) for the rows i0, i1 of a box; `row` is where that row of the plane begins.
template <class F>
void for_each_row(const Geometry::Triple& size, Range r0, Range r1, const F& f) {
  for (std::int64_t i0 = r0.begin; i0 < r0.end; ++i0) {
    for (std::int64_t i1 = r1.begin; i1 < r1.end; ++i1) f(i0, i1, (i0 * size[1] + i1) * size[2]);
  }
}

template <class S>
void max_plane(const Geometry& g, const S* x, S* value, std::int32_t* position) {
  for_each_point(g.out, [&](std::int64_t o0, std::int64_t o1, std::int64_t o2, std::int64_t o) {
    const Range r0 = window_of(g, 0, o0), r1 = window_of(g, 1, o1), r2 = window_of(g, 2, o2);
    std::int64_t best = (r0.begin * g.in[1] + r1.begin) * g.in[2] + r2.begin;
    auto most = static_cast<compute_t<S>>(x[best]);
    for_each_row(g.in, r0, r1, [&](std::int64_t, std::int64_t, std::int64_t row) {
      for (std::int64_t i = row + r2.begin; i < row + r2.end; ++i) {
        const auto candidate = static_cast<compute_t<S>>(x[i]);
        const bool first_nan = candidate != candidate && most == most;
        if (candidate > most || first_nan) most = candidate, best = i;
      }
    });
    value[o] = x[best];
    position[o] = static_cast<std::int32_t>(best);
  });
}

template <class S>
void average_plane(const Geometry& g, const S* x, S* y) {
  using T = compute_t<S>;
  for_each_point(g.out, [&](std::int64_t o0, std::int64_t o1, std::int64_t o2, std::int64_t o) {
    const Range r0 = window_of(g, 0, o0), r1 = window_of(g, 1, o1), r2 = window_of(g, 2, o2);
    T sum = 0;
    for_each_row(g.in, r0, r1, [&](std::int64_t, std::int64_t, std::int64_t row) {
      for (std::int64_t i = row + r2.begin; i < row + r2.end; ++i) sum += static_cast<T>(x[i]);
    });
    y[o] = static_cast<S>(sum / static_cast<T>(r0.count() * r1.count() * r2.count()));
  });
}

// Gathers instead of scattering, so that a narrow result is rounded once.
template <class S>
void spread_plane(const Geometry& g, const S* y, S* x) {
  using T = compute_t<S>;
  for_each_point(g.in, [&](std::int64_t i0, std::int64_t i1, std::int64_t i2, std::int64_t i) {
    const Range r0 = outputs_of(g, 0, i0), r1 = outputs_of(g, 1, i1), r2 = outputs_of(g, 2, i2);
    T sum = 0;
    for_each_row(g.out, r0, r1, [&](std::int64_t o0, std::int64_t o1, std::int64_t row) {
      const std::int64_t rows = window_of(g, 0, o0).count() * window_of(g, 1, o1).count();
      for (std::int64_t o2 = r2.begin; o2 < r2.end; ++o2) {
        sum += static_cast<T>(y[row + o2]) / static_cast<T>(rows * window_of(g, 2, o2).count());
      }
    });
    x[i] = static_cast<S>(sum);
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

}  // namespace

const CpuKernel cpu::max_pool = cpu_kernel<PoolAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolAttrs>();
  const Geometry g(args.in[0].shape, args.out[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    max_plane(g, args.in[0].as<S>() + plane * g.in_points, args.out[0].as<S>() + plane * g.out_points,
              args.out[1].as<std::int32_t>() + plane * g.out_points);
  });
});

const CpuKernel cpu::avg_pool = cpu_kernel<PoolAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolAttrs>();
  const Geometry g(args.in[0].shape, args.out[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    average_plane(g, args.in[0].as<S>() + plane * g.in_points, args.out[0].as<S>() + plane * g.out_points);
  });
});

const CpuKernel cpu::avg_pool_grad = cpu_kernel<PoolGradAttrs>([](const KernelArgs& args) {
  const auto& attrs = args.attrs<PoolGradAttrs>();
  const Geometry g(args.out[0].shape, args.in[0].shape, attrs.window, attrs.stride, attrs.low);
  for_each_plane(args, g, [&]<class S>(std::int64_t plane) {
    spread_plane(g, args.in[0].as<S>() + plane * g.out_points, args.out[0].as<S>() + plane * g.in_points);
  });
});

}  // namespace tidemark
