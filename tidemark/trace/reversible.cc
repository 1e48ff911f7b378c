#include "tidemark/trace/reversible.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {

Tensor on_grid(const Operand& x, double range) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return to_grid(v[0], range); });
}

Tensor coupled(const Operand& x, const Operand& t, double range) {
  return build({x, t}, [&](Builder&, std::span<const Var> v) { return couple(v[0], v[1], range); });
}

Tensor scaled_and_shifted(const Operand& x, const Operand& scale, const Operand& shift, double gain) {
  return build({x, scale, shift},
               [&](Builder&, std::span<const Var> v) { return scale_shift(v[0], v[1], v[2], gain); });
}

double gain_of(double limit, SourceLine where) {
  if (limit > 0 && std::isfinite(limit)) return std::exp(limit);
  fail(ErrorCode::bad_attribute, {.what = fmt::format("affine_coupling with a limit of {}", limit),
                                  .expected = "a finite number above 0",
                                  .where = where});
}

}  // namespace tidemark::detail

namespace tidemark {

Tensor orthogonal_product(const Operand& x, const Operand& q) {
  return build({x, q}, [&](Builder&, std::span<const Var> v) {
    return invertible_product(v[0], v[1], SquareMatrix::orthogonal, 1);
  });
}

Tensor triangular_product(const Operand& x, const Operand& a, double gain, bool lower) {
  const SquareMatrix kind = lower ? SquareMatrix::lower : SquareMatrix::upper;
  return build({x, a},
               [&](Builder&, std::span<const Var> v) { return invertible_product(v[0], v[1], kind, gain); });
}

Tensor scale_and_shift(const Operand& x, const Operand& scale, const Operand& shift, double gain) {
  return build({x, scale, shift}, [&](Builder&, std::span<const Var> v) {
    return scale_shift(v[0], broadcast(v[1], v[0].shape()), broadcast(v[2], v[0].shape()), gain);
  });
}

NormalizedFlow batch_norm_flow(const Operand& x, const Operand& scale, const Operand& shift,
                               BatchNormFlowOptions options) {
  const Shape shape = x.tensor().shape();
  if (shape.rank() < 2)
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("batch_norm_flow: a shape of {}", to_string(shape)),
                                     .expected = "examples by features: two dimensions or more",
                                     .where = x.where()});
  Dims rows;
  for (int d = 0; d + 1 < shape.rank(); ++d) rows.push_back(d);
  const Tensor deviation = sqrt(var(x, rows) + options.epsilon), factor = scale / deviation;
  const Tensor moved = shift - mean(x, rows) * factor;
  return {scale_and_shift(x, factor, moved, options.gain), log(abs(factor))};
}

#define TM_RANGE_FUNCTION(name)                               \
  Tensor name(const Operand& x, Within range) {               \
    return build({x}, [&](Builder&, std::span<const Var> v) { \
      return within(v[0], RangeFunction::name, range.range);  \
    });                                                       \
  }
TM_RANGE_FUNCTION(exp)
TM_RANGE_FUNCTION(log)
TM_RANGE_FUNCTION(tanh)
TM_RANGE_FUNCTION(sigmoid)
TM_RANGE_FUNCTION(softplus)
TM_RANGE_FUNCTION(sinh)
TM_RANGE_FUNCTION(asinh)
#undef TM_RANGE_FUNCTION

}  // namespace tidemark
