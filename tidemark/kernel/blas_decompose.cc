#include "tidemark/kernel/blas_decompose.h"

#include <algorithm>
#include <cmath>

// LAPACK by its Fortran names: LAPACKE is a library of its own on some systems.
extern "C" {
void sgelqf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork,
             int* info);
void dgelqf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* lwork, int* info);
void sorglq_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau,
             float* work, const int* lwork, int* info);
void dorglq_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau,
             double* work, const int* lwork, int* info);
void sgesdd_(const char* job, const int* m, const int* n, float* a, const int* lda, float* s, float* u,
             const int* ldu, float* vt, const int* ldvt, float* work, const int* lwork, int* iwork,
             int* info);
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork,
             int* info);
void ssyevd_(const char* job, const char* uplo, const int* n, float* a, const int* lda, float* w, float* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
void dsyevd_(const char* job, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace tidemark::blas {
namespace {

constexpr std::int64_t block = 32;  // columns that LAPACK takes at a time, if it is given room for them

template <class T>
struct Lapack;
template <>
struct Lapack<float> {
  static constexpr auto gelqf = sgelqf_;
  static constexpr auto orglq = sorglq_;
  static constexpr auto gesdd = sgesdd_;
  static constexpr auto syevd = ssyevd_;
};
template <>
struct Lapack<double> {
  static constexpr auto gelqf = dgelqf_;
  static constexpr auto orglq = dorglq_;
  static constexpr auto gesdd = dgesdd_;
  static constexpr auto syevd = dsyevd_;
};

// Is the element of largest magnitude, the first of equals, negative? `step` is between elements.
template <class T>
bool points_down(const T* x, std::int64_t count, std::int64_t step) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::abs(x[i * step]) > std::abs(largest)) largest = x[i * step];
  }
  return largest < 0;
}
template <class T>
void negate(T* x, std::int64_t count, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) x[i * step] = -x[i * step];
}

}  // namespace

std::int64_t qr_workspace(std::int64_t n) { return n + block * n; }

// LAPACK sees Aᵀ (n×m, by columns) and finds Aᵀ = L Q', so A = Q'ᵀ Lᵀ: by rows, those are Q and R.
template <class T>
void qr(std::int64_t m, std::int64_t n, T* a, T* r, T* work) {
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), lwork = static_cast<int>(block * n);
  T *tau = work, *own = work + n;
  int info = 0;
  Lapack<T>::gelqf(&rows, &columns, a, &rows, tau, own, &lwork, &info);
  for (std::int64_t i = 0; i < n; ++i) {
    std::fill_n(r + i * n, i, T(0));
    std::copy_n(a + i * n + i, n - i, r + i * n + i);
  }
  Lapack<T>::orglq(&rows, &columns, &rows, a, &rows, tau, own, &lwork, &info);
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(r[i * (n + 1)] < 0)) continue;
    negate(r + i * (n + 1), n - i, 1);
    negate(a + i, m, n);
  }
}

Workspace svd_workspace(std::int64_t m, std::int64_t n) {
  const std::int64_t least = std::min(m, n);
  return {4 * least * least + 7 * least + block * (m + n), 8 * least};
}

// LAPACK sees Aᵀ = V diag(s) Uᵀ by columns: by rows, its first factor is Vᵀ and its last U.
template <class T>
bool svd(std::int64_t m, std::int64_t n, T* a, T* u, T* s, T* vt, T* work, std::int32_t* integers) {
  const std::int64_t least = std::min(m, n);
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), rank = static_cast<int>(least),
            lwork = static_cast<int>(svd_workspace(m, n).numbers);
  int info = 0;
  Lapack<T>::gesdd("S", &rows, &columns, a, &rows, s, vt, &rows, u, &rank, work, &lwork, integers, &info);
  for (std::int64_t i = 0; info == 0 && i < least; ++i) {
    if (!points_down(u + i, m, least)) continue;
    negate(u + i, m, least);
    negate(vt + i * n, n, 1);
  }
  return info == 0;
}

Workspace eigh_workspace(std::int64_t n) { return {1 + (6 + block) * n + 2 * n * n, 3 + 5 * n}; }

template <class T>
bool eigh(std::int64_t n, T* a, T* w, T* work, std::int32_t* integers) {
  const Workspace sizes = eigh_workspace(n);
  const int size = static_cast<int>(n), lwork = static_cast<int>(sizes.numbers),
            liwork = static_cast<int>(sizes.integers);
  int info = 0;
  Lapack<T>::syevd("V", "L", &size, a, &size, w, work, &lwork, integers, &liwork, &info);
  for (std::int64_t i = 0; i < n; ++i) {  // vectors are LAPACK's columns, our rows
    if (points_down(a + i * n, n, 1)) negate(a + i * n, n, 1);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
  }
  return info == 0;
}

#define TM_DECOMPOSE(T)                                                                \
  template void qr<T>(std::int64_t, std::int64_t, T*, T*, T*);                         \
  template bool svd<T>(std::int64_t, std::int64_t, T*, T*, T*, T*, T*, std::int32_t*); \
  template bool eigh<T>(std::int64_t, T*, T*, T*, std::int32_t*);
TM_DECOMPOSE(float)
TM_DECOMPOSE(double)
#undef TM_DECOMPOSE

}  // namespace tidemark::blas
