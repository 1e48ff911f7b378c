#include "tidemark/trace/axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark {

int absolute_axis(const Operand& x, std::int64_t axis) {
  const int rank = x.tensor().rank();
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("axis {} is out of range for a tensor of shape {}", axis,
                              to_string(x.tensor().shape())),
          .expected = fmt::format("an axis from {} to {}", -rank, rank - 1),
          .where = x.where()});
  }
  return static_cast<int>(at);
}

Dims absolute_axes(const Operand& x, const Dims& axes) {
  Dims result;
  for (std::int64_t axis : axes) result.push_back(absolute_axis(x, axis));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("axes {} name one dimension twice", to_string(axes)), .where = x.where()});
  }
  return result;
}

}  // namespace tidemark
