// What row kernels and type rules agree on: in which dtype statistics are kept, and how rows become tasks.
#pragma once
#include "tidemark/base/dtype.h"
#include "tidemark/base/shape.h"

namespace tidemark {

// Sums, means and logarithms of sums of 16-bit data are results of their own in f32.
constexpr DType statistics_dtype(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// Rows per task: about 16k elements, so that a task outweighs its dispatch; fixed by the size alone.
constexpr std::int64_t row_grain(std::int64_t length) {
  return length >= 16384 ? 1 : 16384 / (length > 0 ? length : 1);
}

// A shape cut at an axis: (outer, size, inner).
struct AxisCut {
  std::int64_t outer = 1, size = 1, inner = 1;
};
inline AxisCut cut_at(const Shape& shape, std::int64_t axis) {
  AxisCut cut;
  for (int i = 0; i < shape.rank(); ++i) {
    (i < axis ? cut.outer : i == axis ? cut.size : cut.inner) *= shape[i];
  }
  return cut;
}

}  // namespace tidemark
