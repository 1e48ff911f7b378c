#include "tidemark/trace/reversible.h"

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

}  // namespace tidemark
