#include "tidemark/scalar/colouring.h"

#include <algorithm>
#include <numeric>

namespace tidemark::scalars {

std::int32_t fewest_colours(const SparsePattern& by_column) {
  std::size_t most = 0;
  for (std::size_t j = 0; j < by_column.rows; ++j) most = std::max(most, by_column.row(j).size());
  return static_cast<std::int32_t>(most);
}

Colouring colour_rows(const SparsePattern& by_row, const SparsePattern& by_column) {
  std::vector<std::size_t> neighbours(by_row.rows, 0);
  for (std::size_t i = 0; i < by_row.rows; ++i)
    for (const std::int32_t j : by_row.row(i))
      neighbours[i] += by_column.row(static_cast<std::size_t>(j)).size();
  std::vector<std::size_t> order(by_row.rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return neighbours[a] > neighbours[b]; });

  Colouring result;
  result.colours.assign(by_row.rows, -1);
  std::vector<std::size_t> taken_by(by_row.rows + 1, by_row.rows);  // by colour: the row that may not have it
  for (const std::size_t i : order) {
    for (const std::int32_t j : by_row.row(i))
      for (const std::int32_t other : by_column.row(static_cast<std::size_t>(j))) {
        const std::int32_t colour = result.colours[static_cast<std::size_t>(other)];
        if (colour >= 0) taken_by[static_cast<std::size_t>(colour)] = i;
      }
    std::int32_t colour = 0;
    while (taken_by[static_cast<std::size_t>(colour)] == i) ++colour;
    result.colours[i] = colour;
    result.count = std::max(result.count, colour + 1);
  }
  return result;
}

}  // namespace tidemark::scalars
