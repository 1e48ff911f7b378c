// Batch normalisation of columns (ops/normalization/batch_norm.h): x (rows, n), each column normalised, as
// images with their channels last are. Sums go down slabs of rows, then the slabs' own sums are added in
// order, then elements are made. In a block `across` threads stand side by side, each at a pack of columns,
// and `down` below each other.
#pragma once
#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {

inline constexpr int column_threads = 256;
inline constexpr int total_across = 32, total_down = 8;

// The block's columns and rows, as all bodies cut them.
template <class G>
struct ColumnSlab {
  using Index = typename G::Index;
  static constexpr int down = column_threads / G::across, columns = G::across * G::width;
  int row, lane;  // of the thread in the block
  Index tile, slab, column, begin, end;
  ColumnSlab()
      : row(static_cast<int>(threadIdx.x) / G::across),
        lane(static_cast<int>(threadIdx.x) % G::across),
        tile(static_cast<Index>(blockIdx.x) % G::tiles),
        slab(static_cast<Index>(blockIdx.x) / G::tiles),
        column(tile * columns + lane * G::width),
        begin(slab * G::slab_rows),
        end(begin + G::slab_rows < G::rows ? begin + G::slab_rows : G::rows) {}
  template <class F>
  void each(const F& f) const {
    if (column >= G::n) return;
#pragma unroll 4
    for (Index r = begin + row; r < end; r += down) f(r * G::n + column);
  }
};

// The two sums of a slab go to scratch.
template <class G>
void put_slab_sums(const ColumnSlab<G>& own, const compute_t<typename G::T> (&first)[G::width],
                   const compute_t<typename G::T> (&second)[G::width], void* scratch) {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  constexpr int columns = ColumnSlab<G>::columns, down = ColumnSlab<G>::down;
  __shared__ W sums[2][down][columns];
#pragma unroll
  for (int e = 0; e < G::width; ++e) {
    sums[0][own.row][own.lane * G::width + e] = first[e];
    sums[1][own.row][own.lane * G::width + e] = second[e];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < 2 * columns; i += column_threads) {
    const int kind = i / columns, c = i % columns;
    const Index column = own.tile * columns + c;
    if (column >= G::n) continue;
    double sum = 0;
    for (int d = 0; d < down; ++d) sum += static_cast<double>(sums[kind][d][c]);
    static_cast<double*>(scratch)[(own.slab * 2 + kind) * G::n + column] = sum;
  }
}

// The sum of all slabs, for the first `down` of the threads of a column; `i`: of both kinds of all columns.
template <class G>
double slab_total(const void* scratch, typename G::Index i) {
  using Index = typename G::Index;
  __shared__ double sums[total_down][total_across];
  const int across = static_cast<int>(threadIdx.x) % total_across,
            down = static_cast<int>(threadIdx.x) / total_across;
  double sum = 0;
  if (i < 2 * G::n) {
    for (Index slab = down; slab < G::slabs; slab += total_down)
      sum += static_cast<const double*>(scratch)[slab * 2 * G::n + i];
  }
  __syncthreads();  // what was there before was read
  sums[down][across] = sum;
  __syncthreads();
  sum = sums[0][across];
  for (int d = 1; d < total_down; ++d) sum += sums[d][across];
  return sum;
}
// Both of a column, and whether this thread is the one that goes on.
template <class G>
struct ColumnTotals {
  typename G::Index column;
  double first, second;
  bool leads;
  explicit ColumnTotals(const void* scratch)
      : column(static_cast<typename G::Index>(blockIdx.x) * total_across +
               static_cast<typename G::Index>(threadIdx.x) % total_across) {
    const typename G::Index none = 2 * G::n;
    first = slab_total<G>(scratch, column < G::n ? column : none);
    second = slab_total<G>(scratch, column < G::n ? G::n + column : none);
    leads = threadIdx.x < total_across && column < G::n;
  }
};

// Two numbers for each column, behind the slabs' sums.
template <class G>
compute_t<typename G::T>* column_numbers(void* scratch) {
  return reinterpret_cast<compute_t<typename G::T>*>(static_cast<double*>(scratch) + G::slabs * 2 * G::n);
}
template <class G>
compute_t<typename G::T> column_rstd(double variance) {
  return static_cast<compute_t<typename G::T>>(1 / std::sqrt(variance + G::eps));
}

// Sums of differences to the first row, whose squares lose few digits.
template <class G>
void norm_columns_sums(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T* const x = static_cast<const T*>(at.in[0]);
  const bool aligned = is_aligned<G::width>(x);
  W from[G::width] = {}, plain[G::width] = {}, squares[G::width] = {};
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) from[e] = widened(x[own.column + e]);
  }
  own.each([&](typename G::Index i) {
    T xs[G::width];
    load(xs, x + i, aligned);
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const W d = static_cast<W>(widened(xs[e])) - from[e];
      plain[e] += d;
      squares[e] += d * d;
    }
  });
  put_slab_sums<G>(own, plain, squares, at.scratch);
}
template <class G>
void norm_columns_statistics(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnTotals<G> totals(at.scratch);
  if (!totals.leads) return;
  const double share = 1.0 / static_cast<double>(G::rows), shift = totals.first * share;
  double variance = totals.second * share - shift * shift;
  if (variance < 0) variance = 0;
  const double from = static_cast<double>(widened(static_cast<const T*>(at.in[0])[totals.column]));
  const W mean = static_cast<W>(from + shift);
  static_cast<W*>(at.out[1])[totals.column] = mean;
  static_cast<W*>(at.out[2])[totals.column] = static_cast<W>(variance);
  column_numbers<G>(at.scratch)[totals.column] = column_rstd<G>(variance);
}
template <class G>
void norm_columns_apply(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T* const x = static_cast<const T*>(at.in[0]);
  T* const y = static_cast<T*>(at.out[0]);
  const bool aligned = is_aligned<G::width>(x) && is_aligned<G::width>(y);
  W mean[G::width], rstd[G::width], gain[G::width], bias[G::width];
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      mean[e] = static_cast<const W*>(at.out[1])[own.column + e];
      rstd[e] = column_numbers<G>(at.scratch)[own.column + e];
      gain[e] = widened(static_cast<const T*>(at.in[1])[own.column + e]);
      bias[e] = widened(static_cast<const T*>(at.in[2])[own.column + e]);
    }
  }
  own.each([&](typename G::Index i) {
    T xs[G::width], ys[G::width];
    load(xs, x + i, aligned);
#pragma unroll
    for (int e = 0; e < G::width; ++e)
      ys[e] = stored<T>((static_cast<W>(widened(xs[e])) - mean[e]) * rstd[e] * gain[e] + bias[e]);
    store(y + i, ys, aligned);
  });
}

// Of the gradient g of the result, and of g times what was normalised. Operands: x, mean, variance, …, g.
template <class G>
void norm_columns_grad_sums(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T *const x = static_cast<const T*>(at.in[0]), *const g = static_cast<const T*>(at.in[G::gradient]);
  const bool aligned = is_aligned<G::width>(x) && is_aligned<G::width>(g);
  W mean[G::width] = {}, plain[G::width] = {}, product[G::width] = {};
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) mean[e] = static_cast<const W*>(at.in[1])[own.column + e];
  }
  own.each([&](typename G::Index i) {
    T xs[G::width], gs[G::width];
    load(xs, x + i, aligned);
    load(gs, g + i, aligned);
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const W slope = widened(gs[e]);
      plain[e] += slope;
      product[e] += slope * (static_cast<W>(widened(xs[e])) - mean[e]);
    }
  });
  put_slab_sums<G>(own, plain, product, at.scratch);
}
template <class G>
void norm_columns_params(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnTotals<G> totals(at.scratch);
  if (!totals.leads) return;
  const double rstd =
      1 / std::sqrt(static_cast<double>(static_cast<const W*>(at.in[2])[totals.column]) + G::eps);
  static_cast<T*>(at.out[0])[totals.column] = stored<T>(static_cast<W>(totals.second * rstd));
  static_cast<T*>(at.out[1])[totals.column] = stored<T>(static_cast<W>(totals.first));
}
// dx = (g - a - (x - mean) b) c of each column: b and a.
template <class G>
void norm_columns_grad_totals(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  const ColumnTotals<G> totals(at.scratch);
  if (!totals.leads) return;
  const double share = 1.0 / static_cast<double>(G::rows);
  const double variance = static_cast<double>(static_cast<const W*>(at.in[2])[totals.column]) + G::eps;
  W* const to = column_numbers<G>(at.scratch);
  to[totals.column] = static_cast<W>(totals.first * share);
  to[G::n + totals.column] = static_cast<W>(totals.second * share / variance);
}
template <class G>
void norm_columns_grad(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T *const x = static_cast<const T*>(at.in[0]), *const g = static_cast<const T*>(at.in[G::gradient]);
  T* const to = static_cast<T*>(at.out[0]);
  const bool aligned = is_aligned<G::width>(x) && is_aligned<G::width>(g) && is_aligned<G::width>(to);
  W mean[G::width], a[G::width], b[G::width], scale[G::width];
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const typename G::Index c = own.column + e;
      mean[e] = static_cast<const W*>(at.in[1])[c];
      a[e] = column_numbers<G>(at.scratch)[c];
      b[e] = column_numbers<G>(at.scratch)[G::n + c];
      scale[e] = column_rstd<G>(static_cast<double>(static_cast<const W*>(at.in[2])[c])) *
                 static_cast<W>(widened(static_cast<const T*>(at.in[3])[c]));
    }
  }
  own.each([&](typename G::Index i) {
    T xs[G::width], gs[G::width], dx[G::width];
    load(xs, x + i, aligned);
    load(gs, g + i, aligned);
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const W slope = widened(gs[e]);
      dx[e] = stored<T>((slope - a[e] - (static_cast<W>(widened(xs[e])) - mean[e]) * b[e]) * scale[e]);
    }
    store(to + i, dx, aligned);
  });
}

}  // namespace tidemark::cuda
