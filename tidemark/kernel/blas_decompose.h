// Orthogonal decompositions of one row-major, dense matrix on the calling thread, by OpenBLAS's LAPACK, while
// a OneThread (blas_factor.h) holds it to that. T: float or double. Workspaces are the caller's; their sizes
// are formulas of LAPACK's manual, not questions to the library, so that plans are the same everywhere. Signs
// that LAPACK leaves open are fixed, so that results do not depend on its version.
#pragma once
#include <cstdint>

namespace tidemark::blas {

struct Workspace {
  std::int64_t numbers = 0, integers = 0;  // counts of T and of std::int32_t
};

// A (m×n, m ≥ n ≥ 1) becomes Q, r (n×n) the R with A = Q R; no element of R's diagonal is negative.
std::int64_t qr_workspace(std::int64_t n);  // in numbers
template <class T>
void qr(std::int64_t m, std::int64_t n, T* a, T* r, T* work);

// A (m×n, neither 0; lost) = U diag(s) Vᵀ with k = min(m, n): u (m×k), s (k) descending, vt (k×n). The
// largest element of a column of U is positive. False if iterations did not converge.
Workspace svd_workspace(std::int64_t m, std::int64_t n);
template <class T>
bool svd(std::int64_t m, std::int64_t n, T* a, T* u, T* s, T* vt, T* work, std::int32_t* integers);

// Symmetric A (n×n, n ≥ 1) becomes the eigenvectors, as columns, of the eigenvalues w (n), ascending. The
// largest element of a vector is positive. False if iterations did not converge.
Workspace eigh_workspace(std::int64_t n);
template <class T>
bool eigh(std::int64_t n, T* a, T* w, T* work, std::int32_t* integers);

}  // namespace tidemark::blas
