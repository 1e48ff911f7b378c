// Expressions of three operands: fma, hypot, lerp, clamp.
#pragma once
#include "tidemark/scalar/expression.h"

namespace tidemark::scalars {

template <class F, class T>
[[gnu::always_inline]] inline T evaluate(const T& x, const T& y, const T& z) {
  return F::value(x, y, z);
}

template <class F, class A, class B, class C>
struct Ternary : CastsToNumbers<Ternary<F, A, B, C>> {
  using Number = typename A::Number;
  static constexpr unsigned operands = A::operands + B::operands + C::operands, unit_operands = 0;
  A a;
  B b;
  C c;
  Number number;
  [[gnu::always_inline]] Ternary(const A& first, const B& second, const C& third)
      : a(first), b(second), c(third), number(evaluate<F>(first.value(), second.value(), third.value())) {}
  template <PassiveFor<Number> P>
  Ternary(const P& p)  // NOLINT: implicit, as Unary's
      : a(passive_node<A>(static_cast<Number>(p))),
        b(passive_node<B>(static_cast<Number>(p))),
        c(passive_node<C>(static_cast<Number>(p))),
        number(static_cast<Number>(p)) {}
  Number value() const { return number; }
  Id id_bits() const { return a.id_bits() | b.id_bits() | c.id_bits(); }
  template <unsigned unit, unsigned general>
  [[gnu::always_inline]] void push_one(auto& sink) const {
    push<general>(Number(1), sink);
  }
  template <unsigned general>
  [[gnu::always_inline]] void push(const Number& slope, auto& sink) const {
    const Number x = a.value(), y = b.value(), z = c.value();
    if constexpr (A::operands > 0) a.template push<general>(F::pull_x(slope, x, y, z, number), sink);
    if constexpr (B::operands > 0)
      b.template push<general + A::operands>(F::pull_y(slope, x, y, z, number), sink);
    if constexpr (C::operands > 0)
      c.template push<general + A::operands + B::operands>(F::pull_z(slope, x, y, z, number), sink);
  }
};

template <class F, class A, class B, class C>
inline constexpr bool is_node<Ternary<F, A, B, C>> = true;

}  // namespace tidemark::scalars
