#include "tidemark/trace/linear_algebra.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/linalg/cholesky.h"
#include "tidemark/ops/linalg/determinant.h"
#include "tidemark/ops/linalg/eigh.h"
#include "tidemark/ops/linalg/matrices.h"
#include "tidemark/ops/linalg/qr.h"
#include "tidemark/ops/linalg/solve.h"
#include "tidemark/ops/linalg/svd.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/statistics.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Matrices = std::span<const Var>;

std::vector<Tensor> decomposed(const Operand& a, const GraphBody& body) {
  return build_all({&a, 1}, a.where(), body);
}

// What is composed of other ops is refused under the name that the user wrote.
void require_float_matrices(const Operand& a, const char* name, bool square) {
  const Shape& shape = a.tensor().shape();
  const int rank = shape.rank();
  if (rank < 2 || (square && shape[rank - 1] != shape[rank - 2])) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} of a tensor of shape {}", name, to_string(shape)),
          .expected = square ? "square matrices: (…, n, n)" : "matrices: (…, m, n)",
          .where = a.where()});
  }
  if (!wide_floats.contains(a.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{} of {}", name, name_of(a.tensor().dtype())),
                                     .expected = "f32 or f64",
                                     .where = a.where(),
                                     .help = "convert it with cast"});
  }
}

std::int64_t row_count(const Var& a) { return a.shape()[a.shape().rank() - 2]; }
std::int64_t column_count(const Var& a) { return a.shape().back(); }

// The identity for each matrix of a batch, of the size of its rows.
Var identities(const Var& a) {
  Shape shape = a.shape();
  shape.back() = row_count(a);
  return broadcast(identity_matrix(a.builder(), a.dtype(), row_count(a)), shape);
}

Var inverse(const Var& a) { return solve(a, identities(a)); }

// Of a wide matrix, the left square gives Q and the left of R, and Q the rest of R.
QrFactors reduced_qr(const Var& a) {
  const std::int64_t rows = row_count(a), columns = column_count(a);
  if (rows >= columns) return qr(a);
  const int last = a.shape().rank() - 1;
  const QrFactors left = qr(slice_axis(a, last, 0, rows));
  const Var rest = slice_axis(a, last, rows, columns), turned = swap_last_two(left.q);
  const Var parts[] = {left.r, matmul(turned, rest)};
  return {left.q, concat(parts, last)};
}

double default_rcond(const Var& a) {
  const double distance = a.dtype() == DType::f64 ? 0x1p-52 : 0x1p-23;
  return distance * static_cast<double>(std::max(row_count(a), column_count(a)));
}

// The pseudo-inverse of a times b. With a = U S Vᵀ cut to the rank r, and U, S, V taken as constants, every
// matrix of rank r around a is C X D with C = a V S⁻¹, D = S⁻¹ Uᵀ a, X⁻¹ = S⁻¹ Uᵀ a V S⁻¹: its pseudo-inverse
// is D⁺ X⁻¹ C⁺. As C and D have full rank (they are U and Vᵀ here), C⁺ = (Cᵀ C)⁻¹ Cᵀ and D⁺ = Dᵀ (D Dᵀ)⁻¹,
// whose systems are those of the identity: all derivatives are right, whether singular values are equal or
// not, and no condition is squared. Columns behind the rank are zeros, with ones on the diagonals instead.
Var least_squares(const Var& a, const Var& b, double rcond) {
  const SvdFactors factors = svd(a);
  const std::int64_t most = factors.s.shape().back();
  if (most == 0) return matmul(swap_last_two(a), b);  // nothing, or zeros
  const Var u = stop_gradient(factors.u), s = stop_gradient(factors.s), vt = stop_gradient(factors.vt);
  const Var largest = slice_axis(s, s.shape().rank() - 1, 0, 1);
  const Var least = broadcast(largest * constant_like(largest, rcond), s.shape());
  const Var counts = greater(s, least), zero = zeros_like(s), one = ones_like(s);
  const Var weight = select(counts, one / select(counts, s, one), zero);
  const Var rest = diagonal_matrices(select(counts, zero, one));
  const Var left = as_column(weight) * swap_last_two(u), right = swap_last_two(vt) * as_row(weight);
  const Var c = matmul(a, right), d = matmul(left, a);
  const Var ct = swap_last_two(c), dt = swap_last_two(d);
  const Var of_c = matmul(ct, c) + rest, of_d = matmul(d, dt) + rest;
  const Var inner = solve(of_c, matmul(ct, b));
  const Var middle = matmul(matmul(d, right), inner);
  return matmul(dt, solve(of_d, middle));
}

Var power_of(const Var& a, std::uint64_t power) {
  Var result, square = a;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) result = result ? matmul(result, square) : square;
    if (power > 1) square = matmul(square, square);
  }
  return result;
}

void require_equations(const Operand& a, const Operand& b) {
  const Shape &of_a = a.tensor().shape(), &of_b = b.tensor().shape();
  const int rank = of_b.rank();
  if (rank > 0 && of_b[std::max(rank - 2, 0)] == of_a[of_a.rank() - 2]) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("lstsq: a matrix {} and a right-hand side {}", to_string(of_a), to_string(of_b)),
        .expected = "(…, m, n) and (…, m, k), or (m)",
        .where = a.where()});
}

void require_rcond(const Operand& a, const char* name, const RankOptions& options) {
  if (options.rcond < 1) return;  // NaN is refused
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{} with rcond {}", name, options.rcond),
                                  .expected = "a share of the largest singular value, below 1",
                                  .where = a.where()});
}

}  // namespace

Tensor solve(const Operand& a, const Operand& b) {
  return build({a, b}, [](Builder&, Matrices v) { return solve(v[0], v[1]); });
}
Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularSolveAttrs& attrs) {
  return build({a, b}, [&](Builder&, Matrices v) { return triangular_solve(v[0], v[1], attrs); });
}
Tensor lstsq(const Operand& a, const Operand& b, const RankOptions& options) {
  require_float_matrices(a, "lstsq", false);
  require_equations(a, b);
  require_rcond(a, "lstsq", options);
  return build({a, b}, [&](Builder&, Matrices v) {
    const double rcond = options.rcond < 0 ? default_rcond(v[0]) : options.rcond;
    if (v[1].shape().rank() > 1) return least_squares(v[0], v[1], rcond);
    const Var x = least_squares(v[0], expand_dims(v[1], 1), rcond);
    return squeeze(x, x.shape().rank() - 1);
  });
}
Tensor inv(const Operand& a) {
  require_float_matrices(a, "inv", true);
  return build({a}, [](Builder&, Matrices v) { return inverse(v[0]); });
}
Tensor pinv(const Operand& a, const RankOptions& options) {
  require_float_matrices(a, "pinv", false);
  require_rcond(a, "pinv", options);
  return build({a}, [&](Builder&, Matrices v) {
    const double rcond = options.rcond < 0 ? default_rcond(v[0]) : options.rcond;
    return least_squares(v[0], identities(v[0]), rcond);
  });
}

Tensor cholesky(const Operand& a) {
  return build({a}, [](Builder&, Matrices v) { return cholesky(v[0]); });
}
QrResult qr(const Operand& a) {
  require_float_matrices(a, "qr", false);
  const std::vector<Tensor> results = decomposed(a, [](Builder&, Matrices v) {
    const QrFactors factors = reduced_qr(v[0]);
    return std::vector<Var>{factors.q, factors.r};
  });
  return {results[0], results[1]};
}
SvdResult svd(const Operand& a) {
  const std::vector<Tensor> results = decomposed(a, [](Builder&, Matrices v) {
    const SvdFactors factors = svd(v[0]);
    return std::vector<Var>{factors.u, factors.s, factors.vt};
  });
  return {results[0], results[1], results[2]};
}
Tensor svdvals(const Operand& a) { return svd(a).s; }
EighResult eigh(const Operand& a) {
  const std::vector<Tensor> results = decomposed(a, [](Builder&, Matrices v) {
    const EigenPairs pairs = eigh(v[0]);
    return std::vector<Var>{pairs.values, pairs.vectors};
  });
  return {results[0], results[1]};
}
Tensor eigvalsh(const Operand& a) { return eigh(a).values; }

Tensor det(const Operand& a) {
  return build({a}, [](Builder&, Matrices v) { return det(v[0]); });
}
SlogdetResult slogdet(const Operand& a) {
  const std::vector<Tensor> results = decomposed(a, [](Builder&, Matrices v) {
    const SignedLog log = slogdet(v[0]);
    return std::vector<Var>{log.sign, log.log_magnitude};
  });
  return {results[0], results[1]};
}

Tensor matrix_power(const Operand& a, std::int64_t power) {
  require_float_matrices(a, "matrix_power", true);
  return build({a}, [&](Builder&, Matrices v) {
    if (power == 0) return identities(v[0]);
    const auto times = power < 0 ? -static_cast<std::uint64_t>(power) : static_cast<std::uint64_t>(power);
    return power_of(power < 0 ? inverse(v[0]) : v[0], times);
  });
}

Tensor matrix_norm(const Operand& a, MatrixNorm kind) {
  require_float_matrices(a, "matrix_norm", false);
  if (kind == MatrixNorm::frobenius) return norm(a, 2, {-2, -1});
  return build({a}, [&](Builder& builder, Matrices v) {
    const int rank = v[0].shape().rank();
    if (element_count(v[0].shape()) == 0) return zeros(builder, {v[0].dtype(), leading_shape(v[0].shape())});
    if (kind == MatrixNorm::nuclear) return reduce_sum(svd(v[0]).s, {rank - 2});
    if (kind == MatrixNorm::spectral) return squeeze(slice_axis(svd(v[0]).s, rank - 2, 0, 1), rank - 2);
    const int along = kind == MatrixNorm::one ? rank - 2 : rank - 1;
    const Var sums = reduce_sum(abs(v[0]), {along});
    return reduce_max(sums, {rank - 2});
  });
}

}  // namespace tidemark
