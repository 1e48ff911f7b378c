// x with op(A) x = b for general square A (…, n, n) and b (…, n, m), by LU factorisation with row exchanges.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct SolveAttrs {
  bool transpose = false;  // op(A) = Aᵀ
  TM_FIELDS(SolveAttrs, transpose)
};

// Leading dimensions broadcast; a b of rank 1 is one right-hand side.
Var solve(const Var& a, const Var& b, const SolveAttrs& attrs = {});

}  // namespace tidemark
