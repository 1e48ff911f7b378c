#include "tidemark/kernel/gemm_vector.h"

#include <algorithm>
#include <cstring>

namespace tidemark::gemm {
namespace {

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
template <class T>
void store(Lanes<T> v, T* to) {
  std::memcpy(to, &v, sizeof(v));
}

// The depth is contiguous: some rows at a time.
template <int Rows, class T>
void rows(std::int64_t depth, const T* w, std::int64_t row, const T* x, T* sums) {
  Lanes<T> sum[Rows] = {};
  std::int64_t l = 0;
  for (; l + lanes <= depth; l += lanes) {
    const Lanes<T> factor = load(x + l);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) sum[r] += load(w + r * row + l) * factor;
  }
  for (int r = 0; r < Rows; ++r) {
    for (std::int64_t j = 0; l + j < depth; ++j) sum[r][j] += w[r * row + l + j] * x[l + j];
    sums[r] = (sum[r][0] + sum[r][2]) + (sum[r][1] + sum[r][3]);
  }
}

// Results are contiguous: multiples of whole rows of wᵀ are added up, `Steps` at a time (a multiple of the
// lanes, or 1), in long runs. lane[j] holds the sums of lane j.
template <int Steps, class T>
void add_steps(std::int64_t count, const T* w, std::int64_t step, const T* x, T* const* lane) {
  constexpr int used = Steps < lanes ? Steps : lanes;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Lanes<T> sum[used];
#pragma GCC unroll 4
    for (int j = 0; j < used; ++j) sum[j] = load(lane[j] + i);
#pragma GCC unroll 16
    for (int s = 0; s < Steps; ++s) sum[s % used] += load(w + s * step + i) * x[s];
#pragma GCC unroll 4
    for (int j = 0; j < used; ++j) store<T>(sum[j], lane[j] + i);
  }
  for (; i < count; ++i) {
    for (int s = 0; s < Steps; ++s) lane[s % used][i] += w[s * step + i] * x[s];
  }
}
template <class T>
void columns(std::int64_t count, std::int64_t depth, const T* w, std::int64_t step, const T* x, T* sums) {
  T buffer[lanes][vector_run];
  T* lane[lanes] = {buffer[0], buffer[1], buffer[2], buffer[3]};
  for (T* of_lane : lane) std::fill(of_lane, of_lane + count, T(0));
  std::int64_t l = 0;
  for (; l + 16 <= depth; l += 16) add_steps<16, T>(count, w + l * step, step, x + l, lane);
  for (; l + lanes <= depth; l += lanes) add_steps<lanes, T>(count, w + l * step, step, x + l, lane);
  for (; l < depth; ++l) add_steps<1, T>(count, w + l * step, step, x + l, lane + l % lanes);
  for (std::int64_t i = 0; i < count; ++i) sums[i] = (lane[0][i] + lane[2][i]) + (lane[1][i] + lane[3][i]);
}

}  // namespace

template <class T>
void matrix_vector(std::int64_t count, std::int64_t depth, Matrix<const T> w, const T* x, T* sums) {
  if (w.row == 1 && w.col != 1 && count > 1) return columns(count, depth, w.data, w.col, x, sums);
  if (w.col == 1) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) rows<8>(depth, w.data + i * w.row, w.row, x, sums + i);
    for (; i < count; ++i) rows<1>(depth, w.data + i * w.row, w.row, x, sums + i);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T sum[lanes] = {};
    for (std::int64_t l = 0; l < depth; ++l) sum[l % lanes] += w.data[i * w.row + l * w.col] * x[l];
    sums[i] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  }
}

template void matrix_vector<float>(std::int64_t, std::int64_t, Matrix<const float>, const float*, float*);
template void matrix_vector<double>(std::int64_t, std::int64_t, Matrix<const double>, const double*, double*);

}  // namespace tidemark::gemm
