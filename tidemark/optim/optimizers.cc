#include "tidemark/optim/optimizers.h"

#include <cmath>

namespace tidemark::optim {
namespace {

Tensor widened(const Tensor& x) { return cast(x, moment_dtype(x.dtype())); }

bool decays(const Tensor& w, double weight_decay, int decay_rank) {
  return weight_decay != 0 && w.rank() >= decay_rank;
}

}  // namespace

DType moment_dtype(DType parameter) { return size_of(parameter) == 2 ? DType::f32 : parameter; }

Tensor zero_moment(const Tensor& parameter) {
  return zeros(parameter.shape(), moment_dtype(parameter.dtype()));
}

void check_sizes(std::size_t parameters, std::size_t others, std::string_view what, SourceLine where) {
  if (parameters == others) return;
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("an update of {} parameters with {} {}", parameters, others, what),
        .expected = fmt::format("a tree of {} like that of the parameters", what),
        .where = where});
}

Tensor Sgd::updated(const Tensor& w, const Tensor& g) const {
  const Tensor wide = widened(w);
  return cast(wide - widened(g) * lr, w.dtype());
}

Momentum::Pair Momentum::updated(const Pair& old, const Tensor& g) const {
  const Tensor w = widened(old.w);
  Tensor slope = widened(g);
  if (decays(w, weight_decay, decay_rank)) slope = slope + w * weight_decay;
  const Tensor v = old.v * beta + slope;
  return {cast(w - (nesterov ? slope + v * beta : v) * lr, old.w.dtype()), v};
}

// With c = 1 - betaᵗ:  lr (m / c1) / (√(v / c2) + eps) = (lr √c2 / c1) m / (√v + eps √c2).
// expm1 keeps c exact for the first steps, where betaᵗ is close to 1.
AdamW::Corrected AdamW::corrected(const Tensor& steps) const {
  const Tensor t = cast(steps, DType::f32);
  const Tensor c1 = -expm1(t * std::log(beta1)), root = sqrt(-expm1(t * std::log(beta2)));
  return {root * lr / c1, root * eps};
}

AdamW::Triple AdamW::updated(const Triple& old, const Tensor& g, const Corrected& corrected) const {
  const Tensor slope = widened(g);
  const DType dtype = slope.dtype();
  const Tensor kept_m = old.m * beta1, m = kept_m + slope * (1 - beta1);
  const Tensor kept_v = old.v * beta2, v = kept_v + square(slope) * (1 - beta2);
  Tensor w = widened(old.w);
  if (decays(w, weight_decay, decay_rank)) w = w * (1 - lr * weight_decay);
  const Tensor root = sqrt(v), direction = m / (root + cast(corrected.eps, dtype));
  const Tensor change = direction * cast(corrected.rate, dtype);
  return {cast(w - change, old.w.dtype()), m, v};
}

}  // namespace tidemark::optim
