#include "tidemark/kernel/blas_small.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/blas_small.cc"
#include <hwy/foreach_target.h>  // first: compiles the rest once per target

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tidemark::blas {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A register tile: `max_rows` rows of two vectors. 12 sums, 2 of b and one of a fit the 16 registers of AVX2.
constexpr std::int64_t max_rows = 6;
template <class T>
constexpr std::int64_t tile_columns = 2 * static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

// sums (Rows × tile_columns) of a's rows by b's columns; row l of b is at b + l * b_row, contiguous.
template <int Rows, class T>
HWY_INLINE void register_tile(std::int64_t k, Matrix<const T> a, const T* HWY_RESTRICT b, std::int64_t b_row,
                              T* HWY_RESTRICT sums) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<hn::ScalableTag<T>> sum[Rows][2];
  for (int r = 0; r < Rows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
  for (std::int64_t l = 0; l < k; ++l) {
    const auto b0 = hn::LoadU(d, b + l * b_row), b1 = hn::LoadU(d, b + l * b_row + lanes);
    for (int r = 0; r < Rows; ++r) {
      const auto x = hn::Set(d, a.data[r * a.row + l * a.col]);
      sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    hn::StoreU(sum[r][0], d, sums + r * tile_columns<T>);
    hn::StoreU(sum[r][1], d, sums + r * tile_columns<T> + lanes);
  }
}

template <class T>
HWY_INLINE void rows_tile(std::int64_t rows, std::int64_t k, Matrix<const T> a, const T* b,
                          std::int64_t b_row, T* sums) {
  switch (rows) {
    case 1:
      return register_tile<1>(k, a, b, b_row, sums);
    case 2:
      return register_tile<2>(k, a, b, b_row, sums);
    case 3:
      return register_tile<3>(k, a, b, b_row, sums);
    case 4:
      return register_tile<4>(k, a, b, b_row, sums);
    case 5:
      return register_tile<5>(k, a, b, b_row, sums);
    default:
      return register_tile<6>(k, a, b, b_row, sums);
  }
}

template <class T>
HWY_INLINE void product(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a,
                        Matrix<const T> b, T beta, Matrix<T> c) {
  constexpr std::int64_t width = tile_columns<T>;
  HWY_ALIGN T panel[depth_block * width];
  HWY_ALIGN T sums[max_rows * width];
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t columns = std::min(width, n - j);
    const T* right = b.data + j * b.col;
    std::int64_t right_row = b.row;
    if (b.col != 1 || columns < width) {  // not contiguous, or a rest: copied once, padded with zeros
      for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t v = 0; v < width; ++v) {
          panel[l * width + v] = v < columns ? right[l * b.row + v * b.col] : T(0);
        }
      }
      right = panel;
      right_row = width;
    }
    for (std::int64_t i = 0; i < m; i += max_rows) {
      const std::int64_t rows = std::min(max_rows, m - i);
      rows_tile(rows, k, a.at(i, 0), right, right_row, sums);
      for (std::int64_t r = 0; r < rows; ++r) {
        T* out = c.data + (i + r) * c.row + j;
        const T* sum = sums + r * width;
        if (beta == T(0)) {
          for (std::int64_t v = 0; v < columns; ++v) out[v] = alpha * sum[v];
        } else {
          for (std::int64_t v = 0; v < columns; ++v) out[v] = alpha * sum[v] + beta * out[v];
        }
      }
    }
  }
}

void product_f32(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
                 Matrix<const float> b, float beta, Matrix<float> c) {
  product(m, n, k, alpha, a, b, beta, c);
}
void product_f64(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
                 Matrix<const double> b, double beta, Matrix<double> c) {
  product(m, n, k, alpha, a, b, beta, c);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark::blas
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark::blas {
namespace {
HWY_EXPORT(product_f32);
HWY_EXPORT(product_f64);
}  // namespace

void small_product(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
                   Matrix<const float> b, float beta, Matrix<float> c) {
  HWY_DYNAMIC_DISPATCH(product_f32)(m, n, k, alpha, a, b, beta, c);
}
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
                   Matrix<const double> b, double beta, Matrix<double> c) {
  HWY_DYNAMIC_DISPATCH(product_f64)(m, n, k, alpha, a, b, beta, c);
}

}  // namespace tidemark::blas
#endif
