// Blocks whose inputs can be computed back from their outputs, so that nothing of them need wait for the
// backward pass: memory does not grow with their number. Where there is room, the planner keeps what it can.
//
//   auto block = reversible(f, g);
//   std::tie(x1, x2) = block(x1, x2);      // y1 = x1 + f(x2), y2 = x2 + g(y1)
//
// Sums are exact: halves and what f and g make are rounded to multiples of range / 2^24 (f64: 2^53), so that
// what is computed back has the same bits, and gradients are the same at every budget. A sum beyond the range
// is an error of the call (docs/reversible.md).
#pragma once
#include <utility>

#include "tidemark/ops/reversible/couple.h"
#include "tidemark/trace/trace.h"

namespace tidemark {

struct ReversibleOptions {
  double range = default_grid_range;  // a power of two: what halves stay within
};

namespace detail {
Tensor on_grid(const Operand& x, double range);
Tensor coupled(const Operand& x, const Operand& t, double range);
}  // namespace detail

template <class F, class G>
auto reversible(F f, G g, ReversibleOptions options = {},
                SourceLine where = std::source_location::current()) {
  return [f = std::move(f), g = std::move(g), options, where](const Tensor& x1, const Tensor& x2) {
    const Tensor first = detail::on_grid({x1, where}, options.range);
    const Tensor second = detail::on_grid({x2, where}, options.range);
    const Tensor y1 = detail::coupled({first, where}, {f(second), where}, options.range);
    const Tensor y2 = detail::coupled({second, where}, {g(y1), where}, options.range);
    return std::pair(y1, y2);
  };
}

}  // namespace tidemark
