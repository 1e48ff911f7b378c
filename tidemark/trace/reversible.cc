#include "tidemark/trace/reversible.h"

namespace tidemark::detail {

Tensor on_grid(const Operand& x, double range) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return to_grid(v[0], range); });
}

Tensor coupled(const Operand& x, const Operand& t, double range) {
  return build({x, t}, [&](Builder&, std::span<const Var> v) { return couple(v[0], v[1], range); });
}

}  // namespace tidemark::detail
