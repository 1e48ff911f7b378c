// The lower triangular L with L Lᵀ = (A + Aᵀ)/2 for every matrix in the last two dimensions. Reading the
// symmetric part makes the gradient well defined: it is symmetric.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

Var cholesky(const Var& a);

}  // namespace tidemark
