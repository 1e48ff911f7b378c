// A product kernel of our own for small blocks. Each element of the result is one chain of multiply-adds along k in
// order, whatever the strides, so a transposed or sliced operand gives the bits its copy would give. OpenBLAS promises
// that for large blocks only: on x86-64 it has separate kernels for each transposition of small ones.
#pragma once
#include <cstdint>

#include "tidemark/kernel/blas.h"

namespace tidemark::blas {

// c = alpha a b + beta c with k ≤ depth_block; any strides in a and b; c's columns are contiguous.
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix<const float> a,
                   Matrix<const float> b, float beta, Matrix<float> c);
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Matrix<const double> a,
                   Matrix<const double> b, double beta, Matrix<double> c);

}  // namespace tidemark::blas
