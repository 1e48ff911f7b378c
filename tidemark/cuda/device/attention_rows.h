// Attention for whatever has no faster kernel: f64, and heads wider than 256. A block of threads makes one
// row of a result: each thread a score, then each thread some columns of the sum.
//
//   for blocks of 128 columns × columns_per_thread        (what is not one block is seldom: 1024 columns)
//     for blocks of 128 keys (or queries, where the row is that of a key)
//       thread t: the score with key t → shared memory
//       thread t: columns t, t + 128, … += scores × rows
#pragma once
#include "tidemark/cuda/device/attention.h"
#include "tidemark/cuda/device/attention_sizes.h"

namespace tidemark::cuda {

inline constexpr int row_threads = RowSizes::threads, columns_per_thread = RowSizes::columns_per_thread;

template <class F>
typename F::Compute dot(const HeadRows<typename F::Element>& x, int i, const HeadRows<typename F::Element>& y,
                        int j) {
  using W = typename F::Compute;
  W sum = 0;
#pragma unroll 4
  for (int c = 0; c < F::width; ++c)
    sum = std::fma(static_cast<W>(x.at(i, c)), static_cast<W>(y.at(j, c)), sum);
  return sum;
}

// sum[…] += scores[r] × row `row` + r of x, for this thread's columns from `first` on.
template <class F>
void add_rows(typename F::Compute (&sum)[columns_per_thread], const typename F::Compute* scores, int count,
              const HeadRows<typename F::Element>& x, int row, int first) {
  using W = typename F::Compute;
#pragma unroll
  for (int n = 0; n < columns_per_thread; ++n) {
    const int c = first + n * row_threads + static_cast<int>(threadIdx.x);
    if (c >= F::width) continue;
#pragma unroll 4
    for (int r = 0; r < count; ++r) sum[n] = std::fma(scores[r], static_cast<W>(x.at(row + r, c)), sum[n]);
  }
}
template <class F>
void write_columns(typename F::Element* row, const typename F::Compute (&sum)[columns_per_thread], int first,
                   typename F::Compute factor) {
  for (int n = 0; n < columns_per_thread; ++n) {
    const int c = first + n * row_threads + static_cast<int>(threadIdx.x);
    if (c < F::width) row[c] = stored<typename F::Element>(sum[n] * factor);
  }
}

// The largest or the sum of what the block's threads have, for all of them. Always in one order.
template <bool largest, class W>
W over_threads(W x) {
  __shared__ W values[row_threads];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  values[thread] = x;
  __syncthreads();
  for (int half = row_threads / 2; half > 0; half /= 2) {
    if (thread < half) {
      const W other = values[thread + half];
      values[thread] = largest ? std::fmax(values[thread], other) : values[thread] + other;
    }
    __syncthreads();
  }
  return values[0];
}

template <class F>
void attention_rows(const typename F::Pointers& at) {
  using W = typename F::Compute;
  __shared__ W terms[row_threads];
  const int thread = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x % F::queries);
  const Head<F> head(at, static_cast<int>(blockIdx.x / F::queries));
  const Keeper<F> keeper(at);
  const auto q = q_rows<F>(at, head.number), k = k_rows<F>(at, head.kv()), v = v_rows<F>(at, head.kv());
  W top = lowest<W>, total = 0;
  int first = 0;
  do {
    top = lowest<W>, total = 0;
    W sum[columns_per_thread] = {};
    for (int j = 0; j < visible<F>(i); j += row_threads) {
      const bool seen = head.sees(i, j + thread);
      const W score = seen ? dot<F>(q, i, k, j + thread) * F::scale_log2 : lowest<W>;
      const W before = top;
      top = std::fmax(top, over_threads<true>(score));
      // Without a largest score all terms are 0, but for those that are NaN.
      const W shift = top == lowest<W> ? W{0} : top;
      const W term = std::exp2(score - shift), fade = top == before ? W{1} : std::exp2(before - shift);
      total = total * fade + over_threads<false>(term);
      terms[thread] = seen ? term * keeper.factor(head.number, i, j + thread) : W{0};
      __syncthreads();
      for (W& s : sum) s *= fade;
      const int left = visible<F>(i) - j;
      add_rows<F>(sum, terms, left < row_threads ? left : row_threads, v, j, first);
    }
    write_columns<F>(result_rows<F>(at.out[0], head.number, F::queries, i), sum, first,
                     total == 0 ? W{0} : 1 / total);
    first += row_threads * columns_per_thread;
    __syncthreads();
  } while (first < F::width);
  if (thread == 0)
    head.rows(static_cast<W*>(at.out[1]))[i] = top * static_cast<W>(std::numbers::ln2) + std::log(total);
}

// Of one score: what remains of its probability, and the slope of the score.
template <class F>
struct ScoreSlope {
  typename F::Compute share = 0, slope = 0;

  ScoreSlope(const typename F::Pointers& at, const Head<F>& head, const Keeper<F>& keeper, int i, int j) {
    using W = typename F::Compute;
    if (!head.sees(i, j)) return;
    const int kv = head.kv();
    const W score = dot<F>(q_rows<F>(at, head.number), i, k_rows<F>(at, kv), j);
    const W dp = dot<F>(g_rows<F>(at, head.number), i, v_rows<F>(at, kv), j);
    const W p = std::exp2(score * F::scale_log2 - exponent_shift(logsumexp_rows<F>(at, head)[i]));
    const W factor = keeper.factor(head.number, i, j);
    share = p * factor;
    slope = p * (dp * factor - delta_rows<F>(at, head)[i]);
  }
};

template <class F>
void attention_grad_of_query_rows(const typename F::Pointers& at) {
  using W = typename F::Compute;
  __shared__ W slopes[row_threads];
  const int thread = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x % F::queries);
  const Head<F> head(at, static_cast<int>(blockIdx.x / F::queries));
  const Keeper<F> keeper(at);
  for (int first = 0; first < F::width; first += row_threads * columns_per_thread) {
    W sum[columns_per_thread] = {};
    for (int j = 0; j < visible<F>(i); j += row_threads) {
      __syncthreads();
      slopes[thread] = ScoreSlope<F>(at, head, keeper, i, j + thread).slope;
      __syncthreads();
      const int left = visible<F>(i) - j;
      add_rows<F>(sum, slopes, left < row_threads ? left : row_threads, k_rows<F>(at, head.kv()), j, first);
    }
    write_columns<F>(result_rows<F>(at.out[0], head.number, F::queries, i), sum, first, F::scale);
  }
}

template <class F>
void attention_grad_of_key_rows(const typename F::Pointers& at) {
  using W = typename F::Compute;
  __shared__ W shares[row_threads], slopes[row_threads];
  const int thread = static_cast<int>(threadIdx.x), j = static_cast<int>(blockIdx.x % F::keys),
            kv = static_cast<int>(blockIdx.x / F::keys);
  const Keeper<F> keeper(at);
  for (int first = 0; first < F::width; first += row_threads * columns_per_thread) {
    W dk[columns_per_thread] = {}, dv[columns_per_thread] = {};
    for (int h = 0; h < F::group; ++h) {
      const Head<F> head(at, kv * F::group + h);
      for (int i = first_seeing<F>(j); i < F::queries; i += row_threads) {
        __syncthreads();
        const ScoreSlope<F> here(at, head, keeper, i + thread, j);
        shares[thread] = here.share;
        slopes[thread] = here.slope;
        __syncthreads();
        const int count = F::queries - i < row_threads ? F::queries - i : row_threads;
        add_rows<F>(dk, slopes, count, q_rows<F>(at, head.number), i, first);
        add_rows<F>(dv, shares, count, g_rows<F>(at, head.number), i, first);
      }
    }
    write_columns<F>(result_rows<F>(at.out[1], kv, F::keys, j), dk, first, F::scale);
    write_columns<F>(result_rows<F>(at.out[2], kv, F::keys, j), dv, first, W{1});
  }
}

}  // namespace tidemark::cuda
