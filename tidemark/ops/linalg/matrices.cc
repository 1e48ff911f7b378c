#include "tidemark/ops/linalg/matrices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {

void require_square(const Call& call, int operand) {
  const Shape& shape = call.in[static_cast<std::size_t>(operand)].shape;
  if (shape.rank() < 2 || shape[shape.rank() - 1] != shape[shape.rank() - 2]) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: an operand of shape {}", call.op->name, to_string(shape)),
          .expected = "square matrices: (…, n, n)",
          .where = call.where});
  }
}

void require_matrices(const Call& call, int operand) {
  // Workspaces of 4·n² numbers are counted in 31 bits.
  constexpr std::int64_t largest = 20000;
  const Shape& shape = call.in[static_cast<std::size_t>(operand)].shape;
  const int rank = shape.rank();
  if (rank < 2) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: an operand of shape {}", call.op->name, to_string(shape)),
          .expected = "matrices: (…, m, n)",
          .where = call.where});
  }
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  if (std::min(rows, columns) > largest || std::max(rows, columns) > std::numeric_limits<int>::max() / 64) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: matrices of {} × {}", call.op->name, rows, columns),
          .expected = fmt::format("a smaller side of at most {}", largest),
          .where = call.where});
  }
}

Shape leading_shape(const Shape& shape) {
  Shape result = shape;
  for (int i = 0; i < 2 && result.rank() > 0; ++i) result.erase(result.rank() - 1);
  return result;
}

Var symmetric(const Var& x) { return (x + swap_last_two(x)) * 0.5; }

Var identity_matrix(Builder& builder, DType dtype, std::int64_t size) {
  const Shape square = {size, size};
  const Var row = iota(builder, DType::i64, square, 0), column = iota(builder, DType::i64, square, 1);
  return cast(equal(row, column), dtype);
}

// In rows laid end to end, the diagonal is every (n + 1)-th element.
Var main_diagonal(const Var& x) {
  Shape flat = leading_shape(x.shape());
  const std::int64_t n = x.shape().back();
  flat.push_back(n * n);
  return slice_axis(reshape(x, flat), flat.rank() - 1, 0, n * n, n + 1);
}

Var diagonal_matrices(const Var& x) {
  const int rank = x.shape().rank();
  const std::int64_t n = x.shape().back();
  Shape square = x.shape();
  square.push_back(n);
  if (n == 0) return zeros(x.builder(), {x.dtype(), square});
  Dims none = Dims::filled(rank, 0), between = none;
  between[rank - 1] = n;
  const Var zero = constant_like(x, 0);
  return reshape(pad(x, zero, none, none, between), square);
}

Var as_row(const Var& x) { return expand_dims(x, x.shape().rank() - 1); }
Var as_column(const Var& x) { return expand_dims(x, x.shape().rank()); }

Var reciprocal_gaps(const Var& x) {
  const Var one = identity_matrix(x.builder(), x.dtype(), x.shape().back());
  const Var row = as_row(x), column = as_column(x);
  const Var gaps = (row - column) + one;
  return reciprocal(gaps) - one;
}

}  // namespace tidemark
