// A matrix by a vector, for products with one row or one column: reads the matrix once, at the memory's
// speed.
#pragma once
#include "tidemark/kernel/gemm.h"

namespace tidemark::gemm {

// The results that one call computes at most.
inline constexpr std::int64_t vector_run = 1024;

// sums[i] = Σ_l w(i, l) x[l] for i < count ≤ vector_run and l < depth, where each sum runs in four lanes, l
// modulo 4, that are added up as (0 + 2) + (1 + 3). Any strides; with a unit stride in w it is fast.
template <class T>
void matrix_vector(std::int64_t count, std::int64_t depth, Matrix<const T> w, const T* x, T* sums);

}  // namespace tidemark::gemm
