#include "tidemark/base/shape.h"

#include <fmt/ranges.h>

#include "tidemark/base/bounded.h"
#include "tidemark/base/error.h"

namespace tidemark {

void Dims::rank_too_high(std::size_t rank, SourceLine where) {
  fail(ErrorCode::bad_attribute, {.what = fmt::format("a tensor of rank {}", rank),
                                  .expected = fmt::format("at most {} dimensions", max_rank),
                                  .where = where,
                                  .help = "reshape it so that dimensions which go together become one"});
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t size : shape) n = bounded_product(n, size);
  return n;
}

Strides dense_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != step) return shape.rank() > 0 && element_count(shape) == 0;
    step *= shape[i];
  }
  return true;
}

std::string to_string(const Dims& dims) {
  return fmt::format("({})", fmt::join(dims.begin(), dims.end(), ", "));
}

}  // namespace tidemark
