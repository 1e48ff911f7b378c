// x with op(A) x = b, or x op(A) = b, for triangular A (…, n, n); only the named triangle of A is read.
#pragma once
#include <vector>

#include "tidemark/base/fields.h"
#include "tidemark/ir/var.h"

namespace tidemark {

struct TriangularSolveAttrs {
  bool left = true;        // A stands on the left: b is (…, n, m); otherwise (…, m, n)
  bool lower = true;       // the triangle that holds A
  bool transpose = false;  // op(A) = Aᵀ
  bool unit = false;       // the diagonal counts as 1 and is not read
  TM_FIELDS(TriangularSolveAttrs, left, lower, transpose, unit)
};

Var triangular_solve(const Var& a, const Var& b,
                     const TriangularSolveAttrs& attrs);  // leading dimensions broadcast

// The type rule that the solvers share: a, and b that fits it, give x of b's type.
std::vector<Type> infer_system(const Call& call, bool left);
// Leading dimensions of a and b brought to one shape.
struct System {
  Var a, b;
};
System broadcast_system(const Var& a, const Var& b);

}  // namespace tidemark
