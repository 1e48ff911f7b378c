// Factorisations and triangular solves of one row-major matrix on the calling thread, by OpenBLAS and its
// LAPACK, while a OneThread holds them to it. T: float or double. Leading dimensions are in elements.
#pragma once
#include <cstdint>

namespace tidemark::blas {

// OpenBLAS computes on the threads that call it for as long as one of these lives: bits must not depend on
// how many it would take. The number of its threads is the process's, which a program may use for calls of
// its own: it is as before when the last has gone.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

// The lower triangle of `a` (n×n) becomes L with L Lᵀ = A; the upper one is not read or written. Returns 0,
// or the order of the first leading minor that is not positive.
template <class T>
std::int64_t cholesky(std::int64_t n, T* a, std::int64_t lead);

// In place. In terms of rows, the result is a lower triangle (with diagonal) times a unit upper one times a
// permutation of columns; lu_solve knows how to use it. Returns 0, or the order of the first zero pivot.
template <class T>
std::int64_t lu_factor(std::int64_t n, T* a, std::int64_t lead, std::int32_t* pivots);

struct Triangle {
  bool left = true, lower = true, transpose = false, unit = false;
};
// b (m×n) becomes the x of op(a) x = b, or of x op(a) = b when the triangle is not on the left.
template <class T>
void triangular_solve(Triangle kind, std::int64_t m, std::int64_t n, const T* a, std::int64_t a_lead, T* b,
                      std::int64_t b_lead);

// b (n×m) becomes the x of op(a) x = b, given a's factors.
template <class T>
void lu_solve(bool transpose, std::int64_t n, std::int64_t m, const T* factors, std::int64_t lead,
              const std::int32_t* pivots, T* b, std::int64_t b_lead);

}  // namespace tidemark::blas
