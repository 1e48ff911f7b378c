// Rows that become numbers: the variance, the logarithm of a sum of exponentials, sums of products, the place
// of the largest; and the cross entropy with its gradient (ops/normalization/cross_entropy.h).
#pragma once
#include "tidemark/cuda/device/rows.h"

namespace tidemark::cuda {

// From a number that sums and logarithms were computed in: 16-bit elements round it to f32 first.
template <class T>
T rounded_total(double x) {
  if constexpr (is_16_bit_float<T>) {
    return stored<T>(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

template <class G>
void logsumexp_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  Row<G> row(at);
  const auto all = exp_sum<false>(row);
  if (!row.leads()) return;
  const double top = static_cast<double>(all.top);
  static_cast<T*>(at.out[0])[row.number] =
      rounded_total<T>(is_finite(top) ? top + std::log(static_cast<double>(all.sum)) : top);
}

template <class G>
void var_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using S = typename G::Sum;
  Row<G> row(at);
  S sum = 0, squares = 0;
  row.each([&]<int w>(Values<G, w> x, typename G::Index) {
#pragma unroll
    for (int e = 0; e < w; ++e) sum += static_cast<S>(x[0][e]);
  });
  constexpr double count = static_cast<double>(G::n);
  const W mean = static_cast<W>(static_cast<double>(row.team.sum(sum)) / count);
  row.each([&]<int w>(Values<G, w> x, typename G::Index) {
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W c = x[0][e] - mean;
      squares += static_cast<S>(c * c);
    }
  });
  squares = row.team.sum(squares);
  if (row.leads())
    static_cast<T*>(at.out[0])[row.number] = rounded_total<T>(static_cast<double>(squares) / count);
}

// Σ of the products of two rows.
template <class G>
void product_rows(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  using S = typename G::Sum;
  Row<G> row(at);
  S sum = 0;
  row.each([&]<int w>(Values<G, w> x, typename G::Index) {
#pragma unroll
    for (int e = 0; e < w; ++e) sum += static_cast<S>(x[0][e] * x[1][e]);
  });
  sum = row.team.sum(sum);
  if (row.leads()) static_cast<W*>(at.out[0])[row.number] = static_cast<W>(sum);
}

// The place of the extreme element: of equals the first, and the first NaN before all numbers.
template <class G>
struct Best {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  W value;
  Index index;  // n: there is none yet

  bool wins(const Best& other) const {
    if (index == G::n || other.index == G::n) return other.index == G::n;
    const bool none = value != value, other_none = other.value != other.value;
    if (none != other_none) return none;
    if (!none && value != other.value) return G::largest ? value > other.value : value < other.value;
    return index < other.index;
  }
  Best exchanged(int distance) const {
    return {static_cast<W>(__shfl_xor_sync(0xffffffffu, value, distance)),
            static_cast<Index>(__shfl_xor_sync(0xffffffffu, index, distance))};
  }
};
template <class G>
void extreme_rows(const typename G::Pointers& at) {
  using Index = typename G::Index;
  Row<G> row(at);
  Best<G> best{{}, G::n};
  row.each([&]<int w>(Values<G, w> x, Index i) {
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const Best<G> other{x[0][e], i + e};
      if (other.wins(best)) best = other;
    }
  });
  best = row.team.fold(best, [](const Best<G>& a, const Best<G>& b) { return a.wins(b) ? a : b; });
  if (row.leads()) static_cast<std::int64_t*>(at.out[0])[row.number] = best.index;
}

// The label of the row: -1 where it is ignored, or is none.
template <class G>
typename G::Index label_of(const Row<G>& row, const typename G::Pointers& at) {
  if (!row.works) return -1;
  const typename G::Label label = static_cast<const typename G::Label*>(at.in[1])[row.number];
  if (G::ignores && static_cast<long long>(label) == G::ignored) return -1;
  if (label >= 0 && label < G::n) return static_cast<typename G::Index>(label);
  if (at.failed) *at.failed = 1;
  return -1;
}

template <class G>
void cross_entropy_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  Row<G> row(at);
  const typename G::Index label = label_of(row, at);
  const auto all = exp_sum<false>(row);
  if (!row.leads()) return;
  const W logsumexp =
      is_finite(all.top) ? static_cast<W>(all.top + std::log(all.sum)) : std::numeric_limits<W>::quiet_NaN();
  static_cast<W*>(at.out[1])[row.number] = logsumexp;
  static_cast<W*>(at.out[0])[row.number] =
      label < 0 ? W(0) : logsumexp - static_cast<W>(widened(row.from[0][label]));
}

template <class G>
void cross_entropy_grad_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  Row<G> row(at);
  const Index label = label_of(row, at), number = row.works ? row.number : 0;
  const W logsumexp = static_cast<const W*>(at.in[2])[number], g = static_cast<const W*>(at.in[3])[number];
  T* const to = row.result(at, 0);
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W dx[w];
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W p = std::exp(x[0][e] - logsumexp);
      dx[e] = label < 0 ? W(0) : (i + e == label ? p - 1 : p) * g;
    }
    row.write(to, i, dx);
  });
}

}  // namespace tidemark::cuda
