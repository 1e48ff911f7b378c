#include "tidemark/optim/clip.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

Tensors clipped_by_norm(const Tensors& gradients, double most) {
  Tensor squares = scalar(0, DType::f64);
  for (const Tensor& g : gradients) squares = squares + cast(sum(square(widened(g))), DType::f64);
  const Tensor norm = sqrt(squares);
  const Tensor factor = minimum(most / (norm + 1e-6), 1.0);
  Tensors clipped;
  for (const Tensor& g : gradients) clipped.push_back(widened(g) * cast(factor, moment_dtype(g.dtype())));
  return clipped;
}

Tensors clipped_by_value(const Tensors& gradients, double most) {
  Tensors clipped;
  for (const Tensor& g : gradients) clipped.push_back(clamp(g, -most, most));
  return clipped;
}

void check_clip(double most, SourceLine where) {
  if (most > 0) return;
  fail(
      ErrorCode::bad_attribute,
      {.what = fmt::format("gradients clipped to {}", most), .expected = "a number above 0", .where = where});
}

}  // namespace tidemark::optim
