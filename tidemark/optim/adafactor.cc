#include "tidemark/optim/adafactor.h"

#include <cmath>
#include <limits>

#include "tidemark/trace/functions.h"

namespace tidemark::optim {
namespace {

bool is_factored(const Tensor& parameter) { return is_float(parameter.dtype()) && parameter.rank() >= 2; }

// Its shape with a 1 in place of the axis, counted from the end.
Tensor zero_along(const Tensor& parameter, int axis) {
  Shape shape = parameter.shape();
  shape[static_cast<std::size_t>(parameter.rank() - axis)] = 1;
  return zeros(shape, moment_dtype(parameter.dtype()));
}

double distance_beside_one(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }

}  // namespace

Tensor Adafactor::zero_rows(const Tensor& parameter) {
  return is_factored(parameter) ? zero_along(parameter, 1) : zero_moment(parameter);
}
Tensor Adafactor::zero_columns(const Tensor& parameter) {
  return is_factored(parameter) ? zero_along(parameter, 2) : no_moment(parameter);
}

void Adafactor::advance(StateLists& state, const Tensors& gradients, SourceLine where) const {
  if (!(std::isfinite(beta2_decay) && beta2_decay <= 0)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("an optimizer with .beta2_decay = {}", beta2_decay),
                                    .expected = "a finite number of at most 0",
                                    .where = where});
  }
  if (eps) require_positive(*eps, "eps", where);
  require_rate(least_scale, "least_scale", where);
  require_positive(largest_update, "largest_update", where);
  const Tensor before = state.count_step();
  Tensors &parameters = state["parameters"], &rows = state["rows"], &columns = state["columns"];
  const auto chosen =
      choose({lr, weight_decay, decay_rank, groups}, state.names(), parameters, before, where);
  const Tensor t = cast(before + 1, DType::f64);
  const Tensor fresh = pow(t, beta2_decay), longest = rsqrt(t);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (chosen[i].frozen || parameters[i].count() == 0) continue;
    const Tensor w = widened(parameters[i]), g = widened(gradients[i]);
    const DType dtype = w.dtype();
    const Tensor share = cast(fresh, dtype);
    const double least = eps.value_or(distance_beside_one(dtype));
    const Tensor squares = square(g);
    Tensor v;
    if (is_factored(w)) {
      const Tensor row = mean(squares, {-1}, true), column = mean(squares, {-2}, true);
      rows[i] = rows[i] + (row - rows[i]) * share;
      columns[i] = columns[i] + (column - columns[i]) * share;
      const Tensor total = maximum(mean(rows[i], {-2}, true), least);
      v = (rows[i] / total) * columns[i];
    } else {
      rows[i] = rows[i] + (squares - rows[i]) * share;
      v = rows[i];
    }
    const Tensor update = g * rsqrt(maximum(v, least * least));
    const Tensor excess = maximum(root_mean_square(update) * (1 / largest_update), 1.0);
    const Tensor scale = maximum(root_mean_square(w), least_scale);
    const Tensor rate = cast(minimum(chosen[i].rate, longest), dtype);
    const Tensor rest = chosen[i].decayed(w);
    parameters[i] = cast(rest - update * (rate * scale / excess), parameters[i].dtype());
  }
}

}  // namespace tidemark::optim
