#include "tidemark/ops/codec/orthonormal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tidemark {
namespace {

// Rows are cut into chunks, one to a task; sums over a chunk are written down and added up in order.
constexpr std::int64_t chunk = 8192;
std::int64_t chunks_of(std::int64_t length) { return (length + chunk - 1) / chunk; }

// In lanes of its own making, so that compilers may use vectors and the sum is the same without them.
template <class T>
double dot(const T* a, const T* b, std::int64_t count) {
  constexpr std::int64_t lanes = 16, piece = 512;  // a piece in T, pieces in double
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = std::min(begin + piece, count);
    T lane[lanes] = {};
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      for (std::int64_t k = 0; k < lanes; ++k) lane[k] += a[i + k] * b[i + k];
    }
    for (std::int64_t k = 0; i + k < end; ++k) lane[k] += a[i + k] * b[i + k];
    for (std::int64_t k = 0; k < lanes; ++k) sum += static_cast<double>(lane[k]);
  }
  return sum;
}

template <class T>
class GramSchmidt {
 public:
  GramSchmidt(ThreadPool& pool, T* matrix, std::int64_t rows, std::int64_t length, double* partial)
      : pool_(pool),
        matrix_(matrix),
        rows_(rows),
        length_(length),
        partial_(partial + rows),
        sums_(partial) {}

  void run() {
    for (std::int64_t j = 0; j < rows_; ++j) {
      const double before = norm(j);
      subtract(j);
      const double once = norm(j);
      subtract(j);
      const double twice = norm(j);
      // What is left is rounding where most is gone, or where the second time takes away a good part again.
      const double noise = 16 * std::sqrt(static_cast<double>(j + 1)) * std::numeric_limits<T>::epsilon();
      const bool depends = !(once > noise * before) || !(twice > 0.5 * once);
      scale(j, depends ? 0 : 1 / twice);
    }
  }

 private:
  T* row(std::int64_t j) const { return matrix_ + j * length_; }

  // Calls f(chunk, begin, count).
  template <class F>
  void for_chunks(const F& f) const {
    parallel_for(pool_, length_, chunk,
                 [&](std::int64_t begin, std::int64_t end) { f(begin / chunk, begin, end - begin); });
  }

  double norm(std::int64_t j) const {
    for_chunks([&](std::int64_t c, std::int64_t begin, std::int64_t count) {
      partial_[c] = dot(row(j) + begin, row(j) + begin, count);
    });
    double sum = 0;
    for (std::int64_t c = 0; c < chunks_of(length_); ++c) sum += partial_[c];
    return std::sqrt(sum);
  }

  void subtract(std::int64_t j) const {
    if (j == 0) return;
    for_chunks([&](std::int64_t c, std::int64_t begin, std::int64_t count) {
      for (std::int64_t i = 0; i < j; ++i)
        partial_[c * rows_ + i] = dot(row(i) + begin, row(j) + begin, count);
    });
    for (std::int64_t i = 0; i < j; ++i) {
      sums_[i] = 0;
      for (std::int64_t c = 0; c < chunks_of(length_); ++c) sums_[i] += partial_[c * rows_ + i];
    }
    for_chunks([&](std::int64_t, std::int64_t begin, std::int64_t count) {
      T* to = row(j) + begin;
      for (std::int64_t i = 0; i < j; ++i) {
        const T factor = static_cast<T>(sums_[i]);
        const T* from = row(i) + begin;
        for (std::int64_t k = 0; k < count; ++k) to[k] -= factor * from[k];
      }
    });
  }

  void scale(std::int64_t j, double by) const {
    const T factor = static_cast<T>(by);
    for_chunks([&](std::int64_t, std::int64_t begin, std::int64_t count) {
      T* to = row(j) + begin;
      for (std::int64_t k = 0; k < count; ++k) to[k] = factor == 0 ? T(0) : to[k] * factor;
    });
  }

  ThreadPool& pool_;
  T* const matrix_;
  const std::int64_t rows_, length_;
  double* const partial_;  // per chunk, for each row
  double* const sums_;     // for each row
};

}  // namespace

std::int64_t orthonormal_partials(std::int64_t rows, std::int64_t length) {
  return rows + rows * chunks_of(length);
}

template <class T>
void orthonormal_rows(ThreadPool& pool, T* matrix, std::int64_t rows, std::int64_t length, double* partial) {
  GramSchmidt<T>(pool, matrix, rows, length, partial).run();
}
template void orthonormal_rows(ThreadPool&, float*, std::int64_t, std::int64_t, double*);
template void orthonormal_rows(ThreadPool&, double*, std::int64_t, std::int64_t, double*);

}  // namespace tidemark
