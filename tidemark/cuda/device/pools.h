// Pooling over windows (ops/convolution/pool.h), a thread for each element of the result, or for each pack of
// neighbours: of `width` elements along the last dimension, where windows have one element there, as those of
// images with channels last have. 1-D and 2-D are seen as 3-D. Sums are in the CPU's order.
#pragma once
#include "tidemark/cuda/device/chunks.h"

namespace tidemark::cuda {

template <class Index>
struct PoolRange {
  Index begin, end;
};

// What of output o's window lies inside, along one dimension.
template <class Index>
PoolRange<Index> window_inside(Index o, Index window, Index stride, Index low, Index in) {
  const Index start = o * stride - low;
  return {start < 0 ? 0 : start, start + window < in ? start + window : in};
}
// Which outputs' windows hold input i.
template <class Index>
PoolRange<Index> outputs_over(Index i, Index window, Index stride, Index low, Index out) {
  const Index at = i + low, first = at - window + 1, last = at / stride + 1;
  return {first <= 0 ? 0 : (first + stride - 1) / stride, last < out ? last : out};
}

// The windows of one element of the result, as ranges along the three dimensions.
template <class G>
struct PoolWindow {
  using Index = typename G::Index;
  PoolRange<Index> r0, r1, r2;

  PoolWindow(Index o0, Index o1, Index o2)
      : r0(window_inside<Index>(o0, G::window0, G::stride0, G::low0, G::in0)),
        r1(window_inside<Index>(o1, G::window1, G::stride1, G::low1, G::in1)),
        r2(window_inside<Index>(o2, G::window2, G::stride2, G::low2, G::in2)) {}
  // Calls f(position in the plane), row by row.
  template <class F>
  void each(const F& f) const {
    for (Index i0 = r0.begin; i0 < r0.end; ++i0) {
      for (Index i1 = r1.begin; i1 < r1.end; ++i1) {
        const Index row = (i0 * G::in1 + i1) * G::in2;
        for (Index i2 = r2.begin; i2 < r2.end; ++i2) f(row + i2);
      }
    }
  }
  Index area() const { return (r0.end - r0.begin) * (r1.end - r1.begin) * (r2.end - r2.begin); }
};
template <class G>
PoolWindow<G> window_at(typename G::Index i) {
  return {i / (G::out1 * G::out2) % G::out0, i / G::out2 % G::out1, i % G::out2};
}

template <class G>
void max_windows(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  const T* const x = static_cast<const T*>(at.in[0]);
  T* const y = static_cast<T*>(at.out[0]);
  std::int32_t* const positions = static_cast<std::int32_t*>(at.out[1]);
  const bool aligned = is_aligned<G::width>(x) && is_aligned<G::width>(y) && is_aligned<G::width>(positions);
  const Turns<G> turns;
  for (Index turn = turns.first; turn < G::count / G::width; turn += turns.step) {
    const Index i = turn * G::width;
    const T* const plane = x + i / (G::out0 * G::out1 * G::out2) * G::points;
    std::int32_t best[G::width];
    T most[G::width];
    bool is_first = true;
    window_at<G>(i).each([&](Index p) {
      T candidates[G::width];
      load(candidates, plane + p, aligned);
#pragma unroll
      for (int e = 0; e < G::width; ++e) {
        const W candidate = widened(candidates[e]), before = is_first ? candidate : W(widened(most[e]));
        if (is_first || candidate > before || (candidate != candidate && before == before))
          most[e] = candidates[e], best[e] = static_cast<std::int32_t>(p + e);
      }
      is_first = false;
    });
    store(y + i, most, aligned);
    store(positions + i, best, aligned);
  }
}

template <class G>
void average_windows(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step) {
    const T* const plane = static_cast<const T*>(at.in[0]) + i / (G::out0 * G::out1 * G::out2) * G::points;
    const PoolWindow<G> window = window_at<G>(i);
    W sum = 0;
    window.each([&](Index p) { sum += static_cast<W>(widened(plane[p])); });
    static_cast<T*>(at.out[0])[i] = stored<T>(sum / static_cast<W>(window.area()));
  }
}

// The gradient of the largest: an element of x gets those of the windows that chose it.
template <class G>
void spread_maxima(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  constexpr Index plane_points = G::in0 * G::in1 * G::in2;
  const T* const g = static_cast<const T*>(at.in[0]);
  const std::int32_t* const positions = static_cast<const std::int32_t*>(at.in[1]);
  T* const to = static_cast<T*>(at.out[0]);
  const bool aligned = is_aligned<G::width>(g) && is_aligned<G::width>(positions) && is_aligned<G::width>(to);
  const Turns<G> turns;
  for (Index turn = turns.first; turn < G::count / G::width; turn += turns.step) {
    const Index i = turn * G::width;
    const Index i2 = i % G::in2, i1 = i / G::in2 % G::in1, i0 = i / (G::in1 * G::in2) % G::in0;
    const Index first = i / plane_points * G::points;
    const std::int32_t own = static_cast<std::int32_t>(i % plane_points);
    const auto r0 = outputs_over<Index>(i0, G::window0, G::stride0, G::low0, G::out0),
               r1 = outputs_over<Index>(i1, G::window1, G::stride1, G::low1, G::out1),
               r2 = outputs_over<Index>(i2, G::window2, G::stride2, G::low2, G::out2);
    W sums[G::width] = {};
    for (Index o0 = r0.begin; o0 < r0.end; ++o0) {
      for (Index o1 = r1.begin; o1 < r1.end; ++o1) {
        for (Index o2 = r2.begin; o2 < r2.end; ++o2) {
          const Index o = first + (o0 * G::out1 + o1) * G::out2 + o2;
          T slopes[G::width];
          std::int32_t chosen[G::width];
          load(slopes, g + o, aligned);
          load(chosen, positions + o, aligned);
#pragma unroll
          for (int e = 0; e < G::width; ++e) {
            if (chosen[e] == own + e) sums[e] += static_cast<W>(widened(slopes[e]));
          }
        }
      }
    }
    T made[G::width];
#pragma unroll
    for (int e = 0; e < G::width; ++e) made[e] = stored<T>(sums[e]);
    store(to + i, made, aligned);
  }
}

// The adjoint of the mean: an element of x gets its share of every output whose window holds it.
template <class G>
void spread_averages(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step) {
    const Index i2 = i % G::in2, i1 = i / G::in2 % G::in1, i0 = i / (G::in1 * G::in2) % G::in0;
    const T* const plane = static_cast<const T*>(at.in[0]) + i / (G::in0 * G::in1 * G::in2) * G::points;
    const auto r0 = outputs_over<Index>(i0, G::window0, G::stride0, G::low0, G::out0),
               r1 = outputs_over<Index>(i1, G::window1, G::stride1, G::low1, G::out1),
               r2 = outputs_over<Index>(i2, G::window2, G::stride2, G::low2, G::out2);
    W sum = 0;
    for (Index o0 = r0.begin; o0 < r0.end; ++o0) {
      for (Index o1 = r1.begin; o1 < r1.end; ++o1) {
        for (Index o2 = r2.begin; o2 < r2.end; ++o2) {
          sum += static_cast<W>(widened(plane[(o0 * G::out1 + o1) * G::out2 + o2])) /
                 static_cast<W>(PoolWindow<G>(o0, o1, o2).area());
        }
      }
    }
    static_cast<T*>(at.out[0])[i] = stored<T>(sum);
  }
}

}  // namespace tidemark::cuda
