// Matrices of derivatives: dense, and sparse by rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark::scalars {

// By rows, one behind the other.
template <class T>
struct DenseMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<T> values;

  DenseMatrix() = default;
  DenseMatrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}

  T& operator()(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  const T& operator()(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  std::span<T> row(std::size_t i) { return std::span(values).subspan(i * columns, columns); }
  std::span<const T> row(std::size_t i) const { return std::span(values).subspan(i * columns, columns); }
};
using Matrix = DenseMatrix<double>;

// Which entries a sparse matrix has: those of row i are columns[row_starts[i]] up to
// columns[row_starts[i + 1] - 1], ascending (CSR).
struct SparsePattern {
  std::size_t rows = 0, columns = 0;
  std::vector<std::int64_t> row_starts = {0};
  std::vector<std::int32_t> column_indices;

  SparsePattern() = default;
  SparsePattern(std::size_t row_count, std::size_t column_count) : rows(row_count), columns(column_count) {}
  // Behind those that are there; `rows` of them make it whole.
  void append_row(std::span<const std::int32_t> row_columns) {
    column_indices.insert(column_indices.end(), row_columns.begin(), row_columns.end());
    row_starts.push_back(static_cast<std::int64_t>(column_indices.size()));
  }

  std::size_t entries() const { return column_indices.size(); }
  std::span<const std::int32_t> row(std::size_t i) const {
    return std::span(column_indices)
        .subspan(static_cast<std::size_t>(row_starts[i]),
                 static_cast<std::size_t>(row_starts[i + 1] - row_starts[i]));
  }
  SparsePattern transposed() const;
  friend bool operator==(const SparsePattern&, const SparsePattern&) = default;
};

struct SparseMatrix {
  SparsePattern pattern;
  std::vector<double> values;  // by entry of the pattern

  double operator()(std::size_t row, std::size_t column) const;  // 0 where there is none
  Matrix dense() const;
};

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::Matrix, scalars::SparseMatrix, scalars::SparsePattern;
}  // namespace tidemark
