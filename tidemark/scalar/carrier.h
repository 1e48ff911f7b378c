// Numbers that carry something along with their value: derivatives in some directions (dual.h), or on which
// inputs they depend (dependent.h). What a formula gives for them is its value for the values, and the chain
// rule for what they carry.
#pragma once
#include <type_traits>

#include "tidemark/scalar/ternary.h"

namespace tidemark::scalars {

// A carrier D has a value(); varies() says whether it carries anything; z.chain(partial, x) is the chain
// rule.
template <class E>
inline constexpr bool carries = false;
template <class E>
concept Carrier = carries<std::remove_cvref_t<E>>;

template <Carrier D>
constexpr double value(const D& x) {
  return x.value();
}
// Of a partial derivative or an adjoint, which is to be kept unless nothing depends on it.
template <Carrier D>
constexpr bool is_zero(const D& x) {
  return x.value() == 0 && !x.varies();
}

// A partial derivative of an operand that does not vary is not computed: it may be dear, as that of a power
// by its exponent.
template <class F, Carrier D>
[[gnu::always_inline]] inline D evaluate(const D& x) {
  D z(F::value(x.value()));
  if constexpr (formula::HasSlope<F> || formula::HasPull<F>)
    z.chain(formula::pull<F>(1.0, x.value(), z.value()), x);
  return z;
}
template <class F, Carrier D>
[[gnu::always_inline]] inline D evaluate(const D& x, const D& y) {
  const double a = x.value(), b = y.value();
  D z(F::value(a, b));
  if constexpr (std::is_same_v<F, formula::Mul>) z = D(rounded(z.value()));
  if constexpr (requires { F::pull_x(a, a, a, a); })
    if (x.varies()) z.chain(F::pull_x(1.0, a, b, z.value()), x);
  if constexpr (requires { F::pull_y(a, a, a, a); })
    if (y.varies()) z.chain(F::pull_y(1.0, a, b, z.value()), y);
  return z;
}
template <class F, Carrier D>
[[gnu::always_inline]] inline D evaluate(const D& x, const D& y, const D& w) {
  const double a = x.value(), b = y.value(), c = w.value();
  D z(F::value(a, b, c));
  z.chain(F::pull_x(1.0, a, b, c, z.value()), x);
  z.chain(F::pull_y(1.0, a, b, c, z.value()), y);
  z.chain(F::pull_z(1.0, a, b, c, z.value()), w);
  return z;
}

}  // namespace tidemark::scalars
