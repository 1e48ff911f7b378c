// What the ops on matrices (…, m, n) share: checks of shapes, and the small functions of matrices that their
// derivative rules are written in.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

// The last two dimensions are square.
void require_square(const Call& call, int operand);
// There are two dimensions at least, and neither of the last two is larger than LAPACK's integers reach.
void require_matrices(const Call& call, int operand);

Shape leading_shape(const Shape& shape);  // without the last two dimensions

Var symmetric(const Var& x);                                            // (X + Xᵀ)/2
Var identity_matrix(Builder& builder, DType dtype, std::int64_t size);  // (size, size)
Var main_diagonal(const Var& x);                                        // (…, n, n): (…, n)
Var diagonal_matrices(const Var& x);                                    // (…, n): (…, n, n)
Var as_row(const Var& x);     // (…, n): (…, 1, n), which scales columns
Var as_column(const Var& x);  // (…, n): (…, n, 1), which scales rows
// 1/(x_j - x_i) at (i, j), 0 on the diagonal: infinite where two are equal.
Var reciprocal_gaps(const Var& x);

}  // namespace tidemark
