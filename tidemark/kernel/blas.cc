#include "tidemark/kernel/blas.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tidemark/kernel/blas_small.h"

namespace tidemark::blas {
namespace {

constexpr std::int64_t max_int = std::numeric_limits<int>::max();

// Each tile packs its panels again: 256×512 loses 2% against one call for the whole, 256×256 4%, 64×64 over 10%.
// Small tiles pay only where there would be hardly any tasks at all.
constexpr std::int64_t full_rows = 256, full_cols = 512;
constexpr std::int64_t least_work = 1 << 19;  // multiply-adds per task: about 20 µs on one core
constexpr std::int64_t wanted_tasks = 4;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool hold_to_one_thread() {
  openblas_set_num_threads(1);
  return true;
}

int narrow(std::int64_t x) { return static_cast<int>(x); }

// Reads strides as BLAS wants them: transposed or not, and the leading dimension.
struct Layout {
  bool transposed;
  int leading;
};
Layout layout(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  if (rows == 1 && cols == 1) return {false, 1};
  if (rows == 1) {
    return col_stride == 1 ? Layout{false, narrow(cols)} : Layout{true, narrow(col_stride)};
  }
  if (cols == 1) {
    return row_stride == 1 ? Layout{true, narrow(rows)} : Layout{false, narrow(row_stride)};
  }
  return col_stride == 1 && row_stride >= cols ? Layout{false, narrow(row_stride)}
                                               : Layout{true, narrow(col_stride)};
}

// Column-major with the operands swapped, which is the same product: OpenBLAS has a short cut for plain row-major
// operands on AVX-512 that rounds differently from what it does with transposed ones.
void call_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a,
               int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}
void call_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a,
               int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}
template <class T>
void scale(std::int64_t m, std::int64_t n, T beta, Matrix<T> c) {
  if (beta == T(1)) return;
  for (std::int64_t i = 0; i < m; ++i) {
    T* row = c.data + i * c.row;
    if (beta == T(0)) {
      std::fill(row, row + n, T(0));
    } else {
      for (std::int64_t j = 0; j < n; ++j) row[j] *= beta;
    }
  }
}

// Below this many multiply-adds the fixed cost of a BLAS call (0.15 µs) exceeds the work.
constexpr std::int64_t small_work = 256;

// Blocks up to this many multiply-adds go to small_product. On x86-64 OpenBLAS takes kernels for small matrices up to
// 100³, whose bits depend on the transposition; elsewhere the limit is where the two are equally fast.
#if defined(__x86_64__)
constexpr std::int64_t own_work = 100 * 100 * 100;
#else
constexpr std::int64_t own_work = 16 * 16 * 16;
#endif

template <class T>
void small_gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b,
                T beta, Matrix<T> c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a.data[i * a.row + l * a.col] * b.data[l * b.row + j * b.col];
      T& out = c.data[i * c.row + j];
      out = beta == T(0) ? alpha * sum : alpha * sum + beta * out;
    }
  }
}

// Sums of a matrix by a vector run in four lanes, k modulo 4, whichever way the matrix lies.
constexpr std::int64_t lanes = 4;
template <class T>
struct Four {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <class T>
using Lanes = typename Four<T>::type;

template <class T>
Lanes<T> load(const T* from) {
  Lanes<T> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// Rows contiguous: some rows at a time, each a sum of products along k.
template <class T, int Rows>
void row_sums(std::int64_t k, const T* a, std::int64_t row, const T* x, T* sums) {
  Lanes<T> sum[Rows] = {};
  std::int64_t l = 0;
  for (; l + lanes <= k; l += lanes) {
    const Lanes<T> factor = load(x + l);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sum[r] += load(a + r * row + l) * factor;
  }
  for (int r = 0; r < Rows; ++r) {
    for (std::int64_t j = 0; l + j < k; ++j) sum[r][j] += a[r * row + l + j] * x[l + j];
    sums[r] = (sum[r][0] + sum[r][2]) + (sum[r][1] + sum[r][3]);
  }
}

// Columns contiguous: multiples of whole columns added up, Width rows at a time.
template <class T, int Width>
void column_sums(std::int64_t k, const T* a, std::int64_t col, const T* x, T* sums) {
  constexpr int parts = Width / lanes;
  Lanes<T> sum[lanes][parts] = {};
  std::int64_t l = 0;
  for (; l + lanes <= k; l += lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < lanes; ++j) {
#pragma GCC unroll 4
      for (int p = 0; p < parts; ++p) sum[j][p] += load(a + (l + j) * col + p * lanes) * x[l + j];
    }
  }
  for (int j = 0; l + j < k; ++j) {
    for (int p = 0; p < parts; ++p) sum[j][p] += load(a + (l + j) * col + p * lanes) * x[l + j];
  }
  for (int p = 0; p < parts; ++p) {
    const Lanes<T> total = (sum[0][p] + sum[2][p]) + (sum[1][p] + sum[3][p]);
    std::memcpy(sums + p * lanes, &total, sizeof(total));
  }
}
template <class T>
T column_sum(std::int64_t k, const T* a, std::int64_t col, const T* x) {
  T sum[lanes] = {};
  for (std::int64_t l = 0; l < k; ++l) sum[l % lanes] += a[l * col] * x[l];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// y = alpha a x + beta y for k up to depth_block; element i of y is y[i * y_step].
template <class T>
void matrix_vector(std::int64_t m, std::int64_t k, T alpha, Matrix<const T> a, const T* x,
                   std::int64_t x_step, T beta, T* y, std::int64_t y_step) {
  const Layout la = layout(m, k, a.row, a.col);
  const std::int64_t lead = la.leading;
  T dense[depth_block];
  if (x_step != 1) {
    for (std::int64_t l = 0; l < k; ++l) dense[l] = x[l * x_step];
    x = dense;
  }
  constexpr int wide = 16, tall = 8;
  for (std::int64_t i = 0; i < m;) {
    T sums[wide];
    std::int64_t rows = 1;
    if (la.transposed && m - i >= wide) {
      column_sums<T, wide>(k, a.data + i, lead, x, sums);
      rows = wide;
    } else if (la.transposed) {
      sums[0] = column_sum(k, a.data + i, lead, x);
    } else if (m - i >= tall) {
      row_sums<T, tall>(k, a.data + i * lead, lead, x, sums);
      rows = tall;
    } else {
      row_sums<T, 1>(k, a.data + i * lead, lead, x, sums);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      T& out = y[(i + r) * y_step];
      out = beta == T(0) ? alpha * sums[r] : alpha * sums[r] + beta * out;
    }
    i += rows;
  }
}

}  // namespace

bool is_direct(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride) {
  if (rows > max_int || cols > max_int || row_stride > max_int || col_stride > max_int) return false;
  if (rows <= 1 && cols <= 1) return true;
  if (rows <= 1) return col_stride >= 1;
  if (cols <= 1) return row_stride >= 1;
  return (col_stride == 1 && row_stride >= cols) || (row_stride == 1 && col_stride >= rows);
}

Method method_for(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m * n * k <= small_work) return Method::small;
  return m == 1 || n == 1 ? Method::vector : Method::product;
}

template <class T>
void gemm_serial(Method method, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                 Matrix<const T> b, T beta, Matrix<T> c) {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) return scale(m, n, beta, c);
  if (method == Method::small) return small_gemm(m, n, k, alpha, a, b, beta, c);
  static const bool once = hold_to_one_thread();
  (void)once;
  const auto trans = [](bool t) { return t ? CblasTrans : CblasNoTrans; };
  for (std::int64_t l = 0; l < k; l += depth_block, beta = T(1)) {
    const std::int64_t depth = std::min(depth_block, k - l);
    const Matrix<const T> left = a.at(0, l), right = b.at(l, 0);
    if (method == Method::vector && n == 1) {
      matrix_vector(m, depth, alpha, left, right.data, right.row, beta, c.data, c.row);
    } else if (method == Method::vector && m == 1) {
      matrix_vector(n, depth, alpha, {right.data, right.col, right.row}, left.data, left.col, beta, c.data,
                    1);
    } else if (m * n * depth <= own_work) {
      small_product(m, n, depth, alpha, left, right, beta, c);
    } else {
      const Layout la = layout(m, depth, a.row, a.col), lb = layout(depth, n, b.row, b.col);
      call_gemm(trans(la.transposed), trans(lb.transposed), narrow(m), narrow(n), narrow(depth), alpha,
                left.data, la.leading, right.data, lb.leading, beta, c.data,
                narrow(m == 1 ? std::max(n, c.row) : c.row));
    }
  }
}

Tiling tile(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  Tiling t;
  if (batch <= 0 || m <= 0 || n <= 0) return t;
  k = std::max<std::int64_t>(k, 1);
  t.rows = std::min(m, full_rows), t.cols = std::min(n, full_cols);
  // One row or column is limited by memory: long pieces, so that the reads are.
  if (n == 1) t.rows = std::min(m, std::max<std::int64_t>(128, least_work / k));
  if (m == 1) t.cols = std::min(n, std::max<std::int64_t>(1024, least_work / k));
  const auto count = [&] {
    t.row_tiles = ceil_div(m, t.rows), t.col_tiles = ceil_div(n, t.cols);
    return t.tiles = batch * t.row_tiles * t.col_tiles;
  };
  while (count() < wanted_tasks && m > 1 && n > 1 && t.rows * t.cols * k > least_work) {
    const std::int64_t least = t.tiles < 2 ? 64 : 256;
    if (t.cols > least && t.cols >= t.rows) {
      t.cols = ceil_div(t.cols, 2);
    } else if (t.rows > least) {
      t.rows = ceil_div(t.rows, 2);
    } else {
      break;
    }
  }
  // Even tiles, in multiples of what the micro-kernels hold in registers.
  const auto even = [](std::int64_t size, std::int64_t tiles) {
    return std::min(size, ceil_div(ceil_div(size, tiles), 16) * 16);
  };
  t.rows = even(m, t.row_tiles), t.cols = even(n, t.col_tiles);
  count();
  t.group = std::clamp<std::int64_t>(least_work / std::max<std::int64_t>(t.rows * t.cols * k, 1), 1, t.tiles);
  t.tasks = ceil_div(t.tiles, t.group);
  return t;
}

Tile tile_at(const Tiling& tiling, std::int64_t index, std::int64_t m, std::int64_t n) {
  const std::int64_t per_result = tiling.row_tiles * tiling.col_tiles;
  const std::int64_t within = index % per_result;
  const std::int64_t row = within / tiling.col_tiles * tiling.rows,
                     col = within % tiling.col_tiles * tiling.cols;
  return {index / per_result, row, col, std::min(tiling.rows, m - row), std::min(tiling.cols, n - col)};
}

Batch::Offsets Batch::at(std::int64_t index) const {
  Offsets offsets;
  for (int i = size.rank() - 1; i >= 0; --i) {
    const std::int64_t position = index % size[i];
    index /= size[i];
    offsets.a += position * a[i], offsets.b += position * b[i], offsets.c += position * c[i];
  }
  return offsets;
}

template <class T>
void gemm(ThreadPool& pool, Method method, const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  const Tiling tiling = tile(batch.count(), m, n, k);
  parallel_for(pool, tiling.tiles, tiling.group, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      const Tile t = tile_at(tiling, index, m, n);
      const Batch::Offsets at = batch.at(t.batch);
      const Matrix<const T> rows{a.data + at.a + t.row * a.row, a.row, a.col};
      const Matrix<const T> cols{b.data + at.b + t.col * b.col, b.row, b.col};
      gemm_serial<T>(method, t.rows, t.cols, k, alpha, rows, cols, beta,
                     {c.data + at.c + t.row * c.row + t.col, c.row, 1});
    }
  });
}

template void gemm_serial<float>(Method, std::int64_t, std::int64_t, std::int64_t, float, Matrix<const float>,
                                 Matrix<const float>, float, Matrix<float>);
template void gemm_serial<double>(Method, std::int64_t, std::int64_t, std::int64_t, double,
                                  Matrix<const double>, Matrix<const double>, double, Matrix<double>);
template void gemm<float>(ThreadPool&, Method, const Batch&, std::int64_t, std::int64_t, std::int64_t, float,
                          Matrix<const float>, Matrix<const float>, float, Matrix<float>);
template void gemm<double>(ThreadPool&, Method, const Batch&, std::int64_t, std::int64_t, std::int64_t,
                           double, Matrix<const double>, Matrix<const double>, double, Matrix<double>);

}  // namespace tidemark::blas
