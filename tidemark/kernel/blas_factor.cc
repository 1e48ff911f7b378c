#include "tidemark/kernel/blas_factor.h"

#include <cblas.h>

#include <algorithm>
#include <mutex>

// LAPACK by its Fortran names: LAPACKE is a library of its own on some systems.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
}

namespace tidemark::blas {
namespace {

static_assert(sizeof(int) == sizeof(std::int32_t));

struct Held {
  std::mutex mutex;
  int by = 0;  // how many
  int threads_before = 1;
};
Held& held() {
  static Held all;
  return all;
}

void call_potrf(const char* uplo, const int* n, float* a, const int* lda, int* info) {
  spotrf_(uplo, n, a, lda, info);
}
void call_potrf(const char* uplo, const int* n, double* a, const int* lda, int* info) {
  dpotrf_(uplo, n, a, lda, info);
}
void call_getrf(const int* n, float* a, const int* lda, int* pivots, int* info) {
  sgetrf_(n, n, a, lda, pivots, info);
}
void call_getrf(const int* n, double* a, const int* lda, int* pivots, int* info) {
  dgetrf_(n, n, a, lda, pivots, info);
}

void call_trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
               const float* a, int lda, float* b, int ldb) {
  cblas_strsm(CblasRowMajor, side, uplo, trans, diag, m, n, 1.0f, a, lda, b, ldb);
}
void call_trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
               const double* a, int lda, double* b, int ldb) {
  cblas_dtrsm(CblasRowMajor, side, uplo, trans, diag, m, n, 1.0, a, lda, b, ldb);
}

template <class T>
void swap_rows(T* b, std::int64_t lead, std::int64_t m, std::int64_t i, std::int64_t j) {
  if (i != j) std::swap_ranges(b + i * lead, b + i * lead + m, b + j * lead);
}

}  // namespace

OneThread::OneThread() {
  Held& all = held();
  const std::lock_guard lock(all.mutex);
  if (all.by++ > 0) return;
  all.threads_before = openblas_get_num_threads();
  if (all.threads_before != 1) openblas_set_num_threads(1);
}

OneThread::~OneThread() {
  Held& all = held();
  const std::lock_guard lock(all.mutex);
  if (--all.by > 0) return;
  // Whoever has set another number meanwhile wants that one.
  if (all.threads_before != 1 && openblas_get_num_threads() == 1)
    openblas_set_num_threads(all.threads_before);
}

template <class T>
std::int64_t cholesky(std::int64_t n, T* a, std::int64_t lead) {
  if (n == 0) return 0;
  // What is the lower triangle by rows is the upper one by columns, which is LAPACK's view.
  const int size = static_cast<int>(n), lda = static_cast<int>(lead);
  int info = 0;
  call_potrf("U", &size, a, &lda, &info);
  return info;
}

// LAPACK sees Aᵀ = P L U, so A = Uᵀ Lᵀ Pᵀ: by rows, Uᵀ is the lower triangle and Lᵀ the unit upper one.
template <class T>
std::int64_t lu_factor(std::int64_t n, T* a, std::int64_t lead, std::int32_t* pivots) {
  if (n == 0) return 0;
  const int size = static_cast<int>(n), lda = static_cast<int>(lead);
  int info = 0;
  call_getrf(&size, a, &lda, pivots, &info);
  return info;
}

template <class T>
void triangular_solve(Triangle kind, std::int64_t m, std::int64_t n, const T* a, std::int64_t a_lead, T* b,
                      std::int64_t b_lead) {
  if (m == 0 || n == 0) return;
  call_trsm(kind.left ? CblasLeft : CblasRight, kind.lower ? CblasLower : CblasUpper,
            kind.transpose ? CblasTrans : CblasNoTrans, kind.unit ? CblasUnit : CblasNonUnit,
            static_cast<int>(m), static_cast<int>(n), a, static_cast<int>(a_lead), b,
            static_cast<int>(b_lead));
}

template <class T>
void lu_solve(bool transpose, std::int64_t n, std::int64_t m, const T* factors, std::int64_t lead,
              const std::int32_t* pivots, T* b, std::int64_t b_lead) {
  if (transpose) {  // Aᵀ x = P L U x = b
    for (std::int64_t i = 0; i < n; ++i) swap_rows(b, b_lead, m, i, pivots[i] - 1);
    triangular_solve<T>({.lower = false, .transpose = true, .unit = true}, n, m, factors, lead, b, b_lead);
    triangular_solve<T>({.lower = true, .transpose = true}, n, m, factors, lead, b, b_lead);
  } else {  // Uᵀ Lᵀ (Pᵀ x) = b
    triangular_solve<T>({.lower = true}, n, m, factors, lead, b, b_lead);
    triangular_solve<T>({.lower = false, .unit = true}, n, m, factors, lead, b, b_lead);
    for (std::int64_t i = n - 1; i >= 0; --i) swap_rows(b, b_lead, m, i, pivots[i] - 1);
  }
}

#define TM_FACTOR(T)                                                                                       \
  template std::int64_t cholesky<T>(std::int64_t, T*, std::int64_t);                                       \
  template std::int64_t lu_factor<T>(std::int64_t, T*, std::int64_t, std::int32_t*);                       \
  template void triangular_solve<T>(Triangle, std::int64_t, std::int64_t, const T*, std::int64_t, T*,      \
                                    std::int64_t);                                                         \
  template void lu_solve<T>(bool, std::int64_t, std::int64_t, const T*, std::int64_t, const std::int32_t*, \
                            T*, std::int64_t);
TM_FACTOR(float)
TM_FACTOR(double)
#undef TM_FACTOR

}  // namespace tidemark::blas
