// The eigenvalues (…, n), ascending, and orthonormal eigenvectors, the columns of (…, n, n), of the symmetric
// part (A + Aᵀ)/2 of every matrix (…, n, n), by divide and conquer. The element of largest magnitude in a
// vector is positive. Reading the symmetric part makes the gradient well defined: it is symmetric. Gradients
// through vectors of equal eigenvalues are infinite or NaN, since such vectors are not unique; those through
// values alone are finite.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct EigenPairs {
  Var values, vectors;
};
EigenPairs eigh(const Var& a);

}  // namespace tidemark
