// Colours for compressed derivatives: rows (or columns) of one colour have no column (row) in common, so that
// one sweep gives the entries of all of them.
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/scalar/matrix.h"

namespace tidemark::scalars {

struct Colouring {
  std::vector<std::int32_t> colours;  // of each row
  std::int32_t count = 0;
};

// Of rows; of columns: colour the transposed pattern, which is `by_column` here. Greedy, rows with the most
// neighbours first.
Colouring colour_rows(const SparsePattern& by_row, const SparsePattern& by_column);

// As few colours as any colouring of rows has at least: the entries of the fullest column.
std::int32_t fewest_colours(const SparsePattern& by_column);

}  // namespace tidemark::scalars
