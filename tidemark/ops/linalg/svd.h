// A = U diag(s) Vᵀ for every matrix (…, m, n), reduced: with k = min(m, n), U is (…, m, k), s (…, k),
// descending and not negative, Vᵀ (…, k, n), by divide and conquer. The element of largest magnitude in a
// column of U is positive. Gradients through U or Vᵀ are infinite or NaN where singular values are equal, or
// one is 0, since the vectors are not unique then; those through s alone are finite.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct SvdFactors {
  Var u, s, vt;
};
SvdFactors svd(const Var& a);

}  // namespace tidemark
