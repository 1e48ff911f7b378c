// Sums of batch norms in parts (ops/normalization/norm_columns.h): x (rows, n), two sums down each column.
// Slabs of rows are summed side by side, then the slabs' own sums in order. In a block `across` threads stand
// side by side, each at a pack of columns, and `down` below each other.
#pragma once
#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {

inline constexpr int column_threads = 256;
inline constexpr int total_across = 4, total_down = column_threads / total_across;

// The block's columns and rows.
template <class G>
struct ColumnSlab {
  using Index = typename G::Index;
  using T = typename G::T;
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

  // Calls f with the thread's packs of every row, one of each array. Several rows are read before the first
  // of them is computed with, so that 64 bytes of each thread are on their way.
  template <int arrays, class F>
  void each(const T* const (&from)[arrays], const F& f) const {
    if (column >= G::n) return;
    bool aligned = true;
    for (int k = 0; k < arrays; ++k) aligned = aligned && is_aligned<G::width>(from[k]);
    if (aligned) {
      each_row<arrays, true>(from, f);
    } else {
      each_row<arrays, false>(from, f);
    }
  }

 private:
  template <int arrays, bool aligned, class F>
  void each_row(const T* const (&from)[arrays], const F& f) const {
    constexpr int ahead = 4 / arrays;
    Index r = begin + row;
    for (; r + (ahead - 1) * down < end; r += ahead * down) {
      T packs[ahead][arrays][G::width];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
#pragma unroll
        for (int k = 0; k < arrays; ++k) load(packs[a][k], from[k] + (r + a * down) * G::n + column, aligned);
      }
#pragma unroll
      for (int a = 0; a < ahead; ++a) f(packs[a]);
    }
    for (; r < end; r += down) {
      T packs[arrays][G::width];
#pragma unroll
      for (int k = 0; k < arrays; ++k) load(packs[k], from[k] + r * G::n + column, aligned);
      f(packs);
    }
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

// The sums of all slabs of a column, for the one thread of it that goes on.
template <class G>
struct ColumnTotals {
  using Index = typename G::Index;
  Index column;
  double first = 0, second = 0;
  bool leads;
  explicit ColumnTotals(const void* scratch)
      : column(static_cast<Index>(blockIdx.x) * total_across +
               static_cast<Index>(threadIdx.x) % total_across) {
    __shared__ double sums[2][total_down][total_across];
    const int lane = static_cast<int>(threadIdx.x) % total_across,
              row = static_cast<int>(threadIdx.x) / total_across;
    if (column < G::n) {
      const double* const from = static_cast<const double*>(scratch) + column;
#pragma unroll 4
      for (Index slab = row; slab < G::slabs; slab += total_down) {
        first += from[slab * 2 * G::n];
        second += from[(slab * 2 + 1) * G::n];
      }
    }
    for (int half = total_down / 2; half > 0; half /= 2) {
      sums[0][row][lane] = first;
      sums[1][row][lane] = second;
      __syncthreads();
      if (row < half) {
        first += sums[0][row + half][lane];
        second += sums[1][row + half][lane];
      }
      __syncthreads();
    }
    leads = row == 0 && column < G::n;
  }
};

template <class G>
compute_t<typename G::T> column_number(const void* from, typename G::Index column) {
  return static_cast<const compute_t<typename G::T>*>(from)[column];
}
template <class G>
void put_number(void* to, typename G::Index column, double x) {
  static_cast<compute_t<typename G::T>*>(to)[column] = static_cast<compute_t<typename G::T>>(x);
}

// Sums of differences to the first row, whose squares lose few digits. Operands: x, gain.
template <class G>
void column_sums(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T* const arrays[] = {static_cast<const T*>(at.in[0])};
  W from[G::width] = {}, plain[G::width] = {}, squares[G::width] = {};
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) from[e] = widened(arrays[0][own.column + e]);
  }
  own.each(arrays, [&](const T(&x)[1][G::width]) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const W d = static_cast<W>(widened(x[0][e])) - from[e];
      plain[e] += d;
      squares[e] += d * d;
    }
  });
  put_slab_sums<G>(own, plain, squares, at.scratch);
}
template <class G>
void column_statistics(const typename G::Pointers& at) {
  using T = typename G::T;
  const ColumnTotals<G> totals(at.scratch);
  if (!totals.leads) return;
  const double share = 1.0 / static_cast<double>(G::rows), shift = totals.first * share;
  double variance = totals.second * share - shift * shift;
  if (variance < 0) variance = 0;
  const auto first_row = [&](int operand) {
    return static_cast<double>(widened(static_cast<const T*>(at.in[operand])[totals.column]));
  };
  put_number<G>(at.out[0], totals.column, first_row(0) + shift);
  put_number<G>(at.out[1], totals.column, variance);
  put_number<G>(at.out[2], totals.column, first_row(1) / std::sqrt(variance + G::eps));
}

// Of the gradient g of the result, and of g times x less its mean. Operands: x, mean, variance, g[, scale,
// bias].
template <class G>
void column_slope_sums(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnSlab<G> own;
  const T* const arrays[] = {static_cast<const T*>(at.in[0]), static_cast<const T*>(at.in[3])};
  W mean[G::width] = {}, scale[G::width] = {}, plain[G::width] = {}, product[G::width] = {};
  T bias[G::width] = {};
  if (own.column < G::n) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      mean[e] = column_number<G>(at.in[1], own.column + e);
      if constexpr (G::masked) {
        scale[e] = column_number<G>(at.in[4], own.column + e);
        bias[e] = static_cast<const T*>(at.in[5])[own.column + e];
      }
    }
  }
  own.each(arrays, [&](const T(&packs)[2][G::width]) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const T x = packs[0][e];
      T g = packs[1][e];
      if constexpr (G::masked) g = slope_before_relu(g, x, mean[e], scale[e], bias[e]);
      const W slope = widened(g);
      plain[e] += slope;
      product[e] += slope * (static_cast<W>(widened(x)) - mean[e]);
    }
  });
  put_slab_sums<G>(own, plain, product, at.scratch);
}
template <class G>
void column_slopes(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  const ColumnTotals<G> totals(at.scratch);
  if (!totals.leads) return;
  const double variance = static_cast<double>(column_number<G>(at.in[2], totals.column)) + G::eps;
  const double share = 1.0 / static_cast<double>(G::rows);
  const auto put = [&](int result, double x) {
    static_cast<T*>(at.out[result])[totals.column] = stored<T>(static_cast<W>(x));
  };
  put(0, totals.second / std::sqrt(variance));
  put(1, totals.first);
  put_number<G>(at.out[2], totals.column, totals.first * share);
  put_number<G>(at.out[3], totals.column, totals.second * share / variance);
}

}  // namespace tidemark::cuda
