// Softmax, its logarithm, and their gradients from the result (ops/normalization/softmax.h).
#pragma once
#include "tidemark/cuda/device/rows.h"

namespace tidemark::cuda {

// G::log: the logarithm instead.
template <class G>
void softmax_rows(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  Row<G> row(at);
  auto all = exp_sum<!G::log>(row);
  // Where a number is infinite or none is finite, all are NaN.
  if (!is_finite(all.top)) all.sum = std::numeric_limits<W>::quiet_NaN();
  typename G::T* const to = row.result(at, 0);
  const W scale = static_cast<W>(G::log ? std::log(all.sum) : 1 / all.sum);
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W y[w];
#pragma unroll
    for (int e = 0; e < w; ++e) {
      if constexpr (G::log) {
        y[e] = x[0][e] - all.top - scale;
      } else {
        y[e] = (Row<G>::is_held ? x[0][e] : std::exp(x[0][e] - all.top)) * scale;
      }
    }
    row.write(to, i, y);
  });
}

// Reads the result y and its gradient g.
template <class G>
void softmax_grad_rows(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  using S = typename G::Sum;
  Row<G> row(at);
  S sum = 0;
  row.each([&]<int w>(Values<G, w> x, Index) {
#pragma unroll
    for (int e = 0; e < w; ++e) sum += static_cast<S>(G::log ? x[1][e] : x[1][e] * x[0][e]);
  });
  const W total = static_cast<W>(row.team.sum(sum));
  typename G::T* const to = row.result(at, 0);
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W dx[w];
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W y = x[0][e], g = x[1][e];
      dx[e] = G::log ? g - std::exp(y) * total : y * (g - total);
    }
    row.write(to, i, dx);
  });
}

}  // namespace tidemark::cuda
