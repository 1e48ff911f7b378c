// Matrix products on OpenBLAS with one pool of threads for kernels and BLAS.
//
// OpenBLAS itself is held to one thread. We cut the result (and the batch) into tiles by the problem's size alone and
// run each as one single-threaded gemm on our pool; the inner dimension is never cut by threads:
//
//            n ──────────►                 bits do not depend on the number of threads,
//        m ┌─────┬─────┬──┐                nor on which thread took which tile
//        │ │ t0  │ t1  │t2│
//        ▼ ├─────┼─────┼──┤
//          │ t3  │ t4  │t5│
//          └─────┴─────┴──┘
#pragma once
#include <cstdint>

#include "tidemark/base/parallel.h"
#include "tidemark/base/shape.h"

namespace tidemark::blas {

// A strided matrix: element (i, j) is data[i * row + j * col].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row = 0, col = 1;
  Matrix at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * col, row, col}; }
};

// Can BLAS read it as it lies? One stride is 1 and the other a leading dimension; strides of a single row or column
// do not matter.
bool is_direct(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride);

// How one product is computed. The choice and the order of every sum follow from the sizes of the whole problem alone,
// and so do the tiles, so that neither strides nor transposes show in the bits: a view gives what its copy would give.
enum class Method {
  small,  // plain loops: a BLAS call would cost more than the work
  vector,  // one row or one column: our own loops, faster than gemm; gemv sums in an order that depends on strides
  product,  // gemm
};
Method method_for(std::int64_t m, std::int64_t n, std::int64_t k);

// Sums are cut at multiples of this along k, also where a whole call would do, because packed panels are no deeper.
inline constexpr std::int64_t depth_block = 512;

// c = alpha a b + beta c on the calling thread: a is m×k, b k×n, both direct; c's columns are contiguous (col == 1).
// With beta = 0 what c held does not matter, not even NaN. T: float or double.
template <class T>
void gemm_serial(Method method, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                 Matrix<const T> b, T beta, Matrix<T> c);

template <class T>
void gemm_serial(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                 Matrix<const T> b, T beta, Matrix<T> c) {
  gemm_serial<T>(method_for(m, n, k), m, n, k, alpha, a, b, beta, c);
}

// How a batch of m×n results is cut. One task is a tile, or a run of `group` whole small results.
struct Tiling {
  std::int64_t rows = 0, cols = 0;            // of a tile
  std::int64_t row_tiles = 0, col_tiles = 0;  // per result
  std::int64_t group = 1;                     // tiles per task
  std::int64_t tiles = 0, tasks = 0;          // in all
};
Tiling tile(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k);

struct Tile {
  std::int64_t batch, row, col, rows, cols;
};
Tile tile_at(const Tiling& tiling, std::int64_t index, std::int64_t m, std::int64_t n);

// Several matrix products of one size. Batch dimensions with their element strides in a, b and c (0: broadcast).
struct Batch {
  Dims size, a, b, c;
  std::int64_t count() const { return element_count(size); }
  struct Offsets {
    std::int64_t a = 0, b = 0, c = 0;
  };
  Offsets at(std::int64_t index) const;
};

template <class T>
void gemm(ThreadPool& pool, Method method, const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k,
          T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c);
template <class T>
void gemm(ThreadPool& pool, const Batch& batch, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
          Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  gemm<T>(pool, method_for(m, n, k), batch, m, n, k, alpha, a, b, beta, c);
}

}  // namespace tidemark::blas
