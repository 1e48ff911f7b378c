#include "tidemark/scalar/matrix.h"

#include <algorithm>

namespace tidemark::scalars {

SparsePattern SparsePattern::transposed() const {
  SparsePattern result;
  result.rows = columns;
  result.columns = rows;
  result.row_starts.assign(columns + 1, 0);
  result.column_indices.resize(entries());
  for (const std::int32_t column : column_indices) ++result.row_starts[static_cast<std::size_t>(column) + 1];
  for (std::size_t i = 0; i < columns; ++i) result.row_starts[i + 1] += result.row_starts[i];
  std::vector<std::int64_t> at(result.row_starts.begin(), result.row_starts.end() - 1);
  for (std::size_t i = 0; i < rows; ++i)
    for (const std::int32_t column : row(i))
      result.column_indices[static_cast<std::size_t>(at[static_cast<std::size_t>(column)]++)] =
          static_cast<std::int32_t>(i);
  return result;
}

double SparseMatrix::operator()(std::size_t row, std::size_t column) const {
  const auto columns = pattern.row(row);
  const auto found = std::lower_bound(columns.begin(), columns.end(), static_cast<std::int32_t>(column));
  if (found == columns.end() || *found != static_cast<std::int32_t>(column)) return 0;
  return values[static_cast<std::size_t>(pattern.row_starts[row] + (found - columns.begin()))];
}

Matrix SparseMatrix::dense() const {
  Matrix result(pattern.rows, pattern.columns);
  for (std::size_t i = 0, entry = 0; i < pattern.rows; ++i)
    for (const std::int32_t column : pattern.row(i))
      result(i, static_cast<std::size_t>(column)) = values[entry++];
  return result;
}

}  // namespace tidemark::scalars
