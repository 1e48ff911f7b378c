// A = Q R for matrices (…, m, n) with m ≥ n: orthonormal columns Q (…, m, n) and upper triangular R
// (…, n, n), by Householder reflections. No element of R's diagonal is negative, which makes the factors
// unique where A has full rank, and smooth there.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct QrFactors {
  Var q, r;
};
QrFactors qr(const Var& a);

}  // namespace tidemark
