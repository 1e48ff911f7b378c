// Linear algebra on matrices in the last two dimensions, batched over those before; f32 and f64. A matrix
// that has no result (singular, not positive definite, NaN in a decomposition) is an error with its number in
// the batch. Everything can be differentiated, again too, where the mathematics can; docs/linear_algebra.md
// says what happens where it cannot.
#pragma once
#include "tidemark/ops/linalg/triangular_solve.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

// ---- systems of equations. Leading dimensions broadcast; a b of one dimension is one right-hand side.
Tensor solve(const Operand& a, const Operand& b);
Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularSolveAttrs& attrs = {});
// What counts as rank: singular values above `rcond` times the largest one. Below 0: max(m, n) times the
// distance from 1 to the next number of the dtype, as in NumPy and PyTorch. Derivatives hold where the rank
// does not change around a.
struct RankOptions {
  double rcond = -1;
};
// The x with the least |a x - b|², for a (…, m, n) and b (…, m, k) or (m); of all such x, where a has not the
// rank n, the one with the least |x|².
Tensor lstsq(const Operand& a, const Operand& b, const RankOptions& options = {});
Tensor inv(const Operand& a);                                    // the inverse
Tensor pinv(const Operand& a, const RankOptions& options = {});  // the pseudo-inverse (…, n, m)

// ---- decompositions
Tensor cholesky(const Operand& a);  // lower
struct QrResult {
  Tensor q, r;
  TM_FIELDS(QrResult, q, r)
};
// a = q r, reduced: with k = min(m, n), orthonormal columns q (…, m, k) and an upper triangle r (…, k, n)
// with no negative element on its diagonal, which makes both unique.
QrResult qr(const Operand& a);
struct SvdResult {
  Tensor u, s, vt;
  TM_FIELDS(SvdResult, u, s, vt)
};
// a = u diag(s) vt, reduced: with k = min(m, n), u (…, m, k), s (…, k) descending, vt (…, k, n). The element
// of largest magnitude in a column of u is positive.
SvdResult svd(const Operand& a);
Tensor svdvals(const Operand& a);  // the singular values alone
struct EighResult {
  Tensor values, vectors;
  TM_FIELDS(EighResult, values, vectors)
};
// The eigenvalues (…, n), ascending, and eigenvectors, the columns of (…, n, n), of the symmetric part
// (a + aᵀ)/2. The element of largest magnitude in a vector is positive.
EighResult eigh(const Operand& a);
Tensor eigvalsh(const Operand& a);  // the eigenvalues alone

// ---- determinants
Tensor det(const Operand& a);
struct SlogdetResult {
  Tensor sign, log_magnitude;
  TM_FIELDS(SlogdetResult, sign, log_magnitude)
};
// det(a) = sign · exp(log_magnitude), where det itself would overflow or vanish. 0 and -infinity if a is
// singular.
SlogdetResult slogdet(const Operand& a);

// ---- powers and norms
// a multiplied with itself so many times: the identity for 0, powers of the inverse below.
Tensor matrix_power(const Operand& a, std::int64_t power);
enum class MatrixNorm : std::uint8_t {
  frobenius,  // √Σ x²
  nuclear,    // the sum of the singular values
  spectral,   // the largest singular value
  one,        // the largest sum of magnitudes in a column
  infinity,   // the largest sum of magnitudes in a row
};
Tensor matrix_norm(const Operand& a, MatrixNorm kind = MatrixNorm::frobenius);

}  // namespace tidemark
