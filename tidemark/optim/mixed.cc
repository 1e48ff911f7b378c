#include "tidemark/optim/mixed.h"

#include <cmath>
#include <limits>

#include "tidemark/trace/functions.h"

namespace tidemark::optim {

Tensor narrowed(const Tensor& x, DType dtype) {
  return is_float(x.dtype()) && size_of(x.dtype()) > 2 ? cast(x, dtype) : x;
}

Tensor first_scale(const LossScale& settings) { return scalar(settings.first); }

Tensor scaled(const Tensor& loss, const Tensor& scale) { return cast(loss, DType::f32) * scale; }

Tensor all_finite(const Tensors& gradients) {
  Tensor others = scalar(0.0f);  // how many numbers are not
  for (const Tensor& g : gradients) {
    const double largest =
        g.dtype() == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const Tensor wide = widened(g);
    others = others + sum(select(abs(wide) <= largest, scalar(0.0f), scalar(1.0f)));
  }
  return others == 0.0f;
}

Tensors unscaled(const Tensors& gradients, const Tensor& scale) {
  const Tensor factor = reciprocal(scale);
  Tensors list;
  for (const Tensor& g : gradients) list.push_back(widened(g) * cast(factor, moment_dtype(g.dtype())));
  return list;
}

Tensors chosen_of(const Tensor& condition, const Tensors& on_true, const Tensors& on_false) {
  Tensors list;
  for (std::size_t i = 0; i < on_true.size(); ++i)
    list.push_back(select(condition, on_true[i], on_false.at(i)));
  return list;
}

NextScale next_scale(const LossScale& settings, const Tensor& scale, const Tensor& finite,
                     const Tensor& made) {
  const Tensor count = finite + 1;
  const Tensor grows = count >= settings.interval;
  const Tensor longer = select(grows, scale * settings.growth, scale);
  const Tensor shorter = maximum(scale * settings.backoff, settings.least);
  const Tensor none = no_steps();
  const Tensor next = select(grows, none, count);
  return {select(made, longer, shorter), select(made, next, none)};
}

void check_loss_scale(const LossScale& s, SourceLine where) {
  const bool good = std::isfinite(s.first) && s.first > 0 && std::isfinite(s.growth) && s.growth >= 1 &&
                    s.backoff > 0 && s.backoff <= 1 && s.least > 0 && s.least <= s.first && s.interval >= 1;
  if (good) return;
  fail(ErrorCode::bad_attribute,
       {.what =
            fmt::format("a loss scale of {} (least {}) that grows by {} every {} updates and backs off by {}",
                        s.first, s.least, s.growth, s.interval, s.backoff),
        .expected = "0 < least ≤ first, growth ≥ 1, 0 < backoff ≤ 1, interval ≥ 1",
        .where = where});
}

}  // namespace tidemark::optim
