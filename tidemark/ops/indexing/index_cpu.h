// What the indexing kernels share: a tensor seen around one axis, checked indices, sums that wrap or widen.
#pragma once
#include <type_traits>

#include "tidemark/ir/op.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// A dense tensor as (outer, size, inner).
struct AroundAxis {
  AroundAxis(const Shape& shape, int axis) {
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : i == axis ? size : inner) *= shape[i];
  }
  std::int64_t outer = 1, size = 1, inner = 1;
};

// Throws index_out_of_range for the first index outside of [0, bound), with its position in `indices`, which
// are `what`; nothing: indices of the op.
void check_indices(const KernelArgs& args, const TensorRef& indices, std::int64_t bound, const char* op,
                   std::string_view what = "");

// Calls f with the indices as int32 or int64.
template <class F>
void with_indices(const TensorRef& indices, const F& f) {
  if (indices.dtype == DType::i32) {
    f(indices.as<const std::int32_t>());
  } else {
    f(indices.as<const std::int64_t>());
  }
}

// What adding up elements takes: sums of 16-bit elements are carried in f32 and rounded once.
std::int64_t wide_sums_scratch(const Call& call);

// a + b, wrapping for integers.
template <class T>
T add_wrapping(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace tidemark
