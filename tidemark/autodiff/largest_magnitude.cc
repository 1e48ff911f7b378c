#include "tidemark/autodiff/largest_magnitude.h"

#include <limits>

#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127;
    default:
      return std::numeric_limits<float>::max();
  }
}

}  // namespace

Var largest_magnitude(const Var& x) {
  if (x.type().count() == 0) return constant(x.builder(), x.dtype(), 0.0);
  const Var size = abs(x);
  const Var finite = less_equal(size, constant_like(size, largest_finite(x.dtype())));
  const Var counted = select(finite, size, zeros_like(size));
  return reduce_max(counted, all_axes(counted.shape().rank()));
}

}  // namespace tidemark
