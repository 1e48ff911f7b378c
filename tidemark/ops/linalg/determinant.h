// Determinants of square matrices (…, n, n), by LU factorisation with row exchanges: (…). That of a matrix
// of 0 × 0 is 1.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

// The product of the pivots, kept from overflow on the way: 0 for a singular matrix. Its gradient is the
// matrix of cofactors, which singular matrices have too.
Var det(const Var& a);

// The cofactors (…, n, n): det(A) A⁻ᵀ where A has an inverse. A pivot of 0 counts as the rounding of A, so
// that those of a singular matrix are right up to rounding. Their own derivatives divide by det(A): they are
// infinite or NaN for a singular matrix.
Var cofactors(const Var& a);

// The determinant as sign · exp(log_magnitude), which neither overflows nor vanishes: 0 and -infinity for a
// singular matrix. Its gradient A⁻ᵀ is an error there.
struct SignedLog {
  Var sign, log_magnitude;
};
SignedLog slogdet(const Var& a);

}  // namespace tidemark
