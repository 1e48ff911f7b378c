// What row kernels and type rules agree on: in which dtype statistics are kept, and how rows become tasks.
#pragma once
#include <type_traits>

#include "tidemark/base/dtype.h"
#include "tidemark/base/shape.h"

namespace tidemark {

// The type that computes for a stored type: f64 for f64, f32 for the others.
template <class T>
using wide_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Sums, means and logarithms of sums of 16-bit data are results of their own in f32.
constexpr DType statistics_dtype(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// Calls f.template operator()<T>() with the storage type of a floating dtype.
template <class F>
decltype(auto) dispatch_float(DType t, F&& f) {
  switch (t) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::f16:
      return f.template operator()<Float16>();
    default:
      return f.template operator()<float>();
  }
}

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
