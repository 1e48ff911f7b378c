// Expressions: what operators of Real return. An expression is its value and what its statement will need
// of its operands; it becomes a statement when it is given to a Real, so that a whole right-hand side is
// one. It holds copies, so `auto` is safe. The formulas are those of the tensor operations
// (ops/scalar/scalar_math.h).
#pragma once
#include <concepts>
#include <type_traits>

#include "tidemark/ops/scalar/scalar_math.h"
#include "tidemark/scalar/operands.h"

namespace tidemark::scalars {

template <class T>
class BasicReal;

// A plain number that may stand beside scalars of this Number.
template <class C, class T>
concept PassiveFor = std::is_arithmetic_v<std::remove_cvref_t<C>> || std::same_as<std::remove_cvref_t<C>, T>;

// What a formula gives for numbers. Numbers that carry derivatives of their own (dual.h) take the formula's
// slopes for these, and not the derivative of the lines that compute its value.
template <class F, class T>
[[gnu::always_inline]] inline T evaluate(const T& x) {
  return F::value(x);
}
template <class F, class T>
[[gnu::always_inline]] inline T evaluate(const T& x, const T& y) {
  return F::value(x, y);
}

// C++ asks of an expression what it asks of a number: (int)(x / dx). The derivative is lost there.
template <class E>
struct CastsToNumbers {
  template <class C>
  requires std::is_arithmetic_v<C>
  [[deprecated(
      "this takes the value out of an expression of tidemark::Real, and its derivative is lost; write "
      "value(x) where that is meant")]]  //
  explicit constexpr
  operator C() const {
    return static_cast<C>(static_cast<const E*>(this)->value());
  }
  explicit constexpr operator bool() const { return static_cast<const E*>(this)->value() != 0; }
};

// A variable in an expression.
template <class T>
struct Leaf {
  using Number = T;
  static constexpr unsigned operands = 1, unit_operands = 1;  // unit_operands: of slope 1 if its own is 1
  T number;
  Id id = 0;
  T value() const { return number; }
  Id id_bits() const { return id; }  // bits of those of all variables: 0 where all are passive
  template <unsigned unit, unsigned general>
  [[gnu::always_inline]] void push_one(auto& sink) const {
    sink.template unit<unit>(id);
  }
  template <unsigned general>
  [[gnu::always_inline]] void push(const T& slope, auto& sink) const {
    sink.template general<general>(id, slope);
  }
};

// A plain number in an expression.
template <class T>
struct Passive {
  using Number = T;
  static constexpr unsigned operands = 0, unit_operands = 0;
  T number;
  T value() const { return number; }
  Id id_bits() const { return 0; }
  template <unsigned, unsigned>
  [[gnu::always_inline]] void push_one(auto&) const {}
  template <unsigned>
  [[gnu::always_inline]] void push(const T&, auto&) const {}
};

// A node in whose place a plain number stands.
template <class A>
[[gnu::always_inline]] constexpr A passive_node(const typename A::Number& c) {
  return A{c};
}

template <class F, class A>
struct Unary : CastsToNumbers<Unary<F, A>> {
  using Number = typename A::Number;
  static constexpr unsigned operands = A::operands, unit_operands = 0;
  A a;
  Number number;
  [[gnu::always_inline]] explicit Unary(const A& operand)
      : a(operand), number(evaluate<F>(operand.value())) {}
  // So that `condition ? exp(x) : 0.0` has a type.
  template <PassiveFor<Number> C>
  Unary(const C& c) : a(passive_node<A>(static_cast<Number>(c))), number(static_cast<Number>(c)) {}  // NOLINT
  Number value() const { return number; }
  Id id_bits() const { return a.id_bits(); }
  template <unsigned unit, unsigned general>
  [[gnu::always_inline]] void push_one(auto& sink) const {
    push<general>(Number(1), sink);
  }
  template <unsigned general>
  [[gnu::always_inline]] void push(const Number& slope, auto& sink) const {
    if constexpr (A::operands > 0) a.template push<general>(formula::pull<F>(slope, a.value(), number), sink);
  }
};

// A product rounds before it is added to anything, on every path of a program: where a compiler may
// contract a product and a sum into one operation, it would do so where nothing is recorded, and not where
// slopes need the product, and a step that runs again for its record would have other bits.
template <class T>
[[gnu::always_inline]] inline T rounded(T product) {
#if defined(__FP_FAST_FMA) && defined(__x86_64__)
  if constexpr (std::is_same_v<T, double>) asm("" : "+x"(product));
#elif defined(__FP_FAST_FMA) && defined(__aarch64__)
  if constexpr (std::is_same_v<T, double>) asm("" : "+w"(product));
#endif
  return product;
}

template <class F, class A, class B>
struct Binary : CastsToNumbers<Binary<F, A, B>> {
  using Number = typename A::Number;
  static_assert(std::is_same_v<Number, typename B::Number>, "operands of two kinds of scalars");
  static constexpr bool keeps_a = std::is_same_v<F, formula::Add> || std::is_same_v<F, formula::Sub>;
  static constexpr bool keeps_b = std::is_same_v<F, formula::Add>;
  static constexpr unsigned operands = A::operands + B::operands,
                            unit_operands =
                                (keeps_a ? A::unit_operands : 0) + (keeps_b ? B::unit_operands : 0);
  A a;
  B b;
  Number number;
  [[gnu::always_inline]] Binary(const A& left, const B& right)
      : a(left), b(right), number(evaluate<F>(left.value(), right.value())) {
    if constexpr (std::is_same_v<F, formula::Mul>) number = rounded(number);
  }
  template <PassiveFor<Number> C>
  Binary(const C& c)  // NOLINT: implicit, as Unary's
      : a(passive_node<A>(static_cast<Number>(c))),
        b(passive_node<B>(static_cast<Number>(c))),
        number(static_cast<Number>(c)) {}
  Number value() const { return number; }
  Id id_bits() const { return a.id_bits() | b.id_bits(); }
  template <unsigned unit, unsigned general>
  [[gnu::always_inline]] void push_one(auto& sink) const {
    constexpr unsigned units_of_a = keeps_a ? A::unit_operands : 0;
    if constexpr (A::operands > 0) {
      if constexpr (keeps_a)
        a.template push_one<unit, general>(sink);
      else
        a.template push<general>(F::pull_x(Number(1), a.value(), b.value(), number), sink);
    }
    if constexpr (B::operands > 0) {
      if constexpr (keeps_b)
        b.template push_one<unit + units_of_a, general + A::operands - units_of_a>(sink);
      else
        b.template push<general + A::operands - units_of_a>(
            F::pull_y(Number(1), a.value(), b.value(), number), sink);
    }
  }
  template <unsigned general>
  [[gnu::always_inline]] void push(const Number& slope, auto& sink) const {
    if constexpr (A::operands > 0)
      a.template push<general>(F::pull_x(slope, a.value(), b.value(), number), sink);
    if constexpr (B::operands > 0)
      b.template push<general + A::operands>(F::pull_y(slope, a.value(), b.value(), number), sink);
  }
};

template <class E>
inline constexpr bool is_node = false;
template <class T>
inline constexpr bool is_node<Leaf<T>> = true;
template <class T>
inline constexpr bool is_node<Passive<T>> = true;
template <class F, class A>
inline constexpr bool is_node<Unary<F, A>> = true;
template <class F, class A, class B>
inline constexpr bool is_node<Binary<F, A, B>> = true;
template <class E>
inline constexpr bool is_real = false;
template <class T>
inline constexpr bool is_real<BasicReal<T>> = true;

template <class E>
concept Node = is_node<std::remove_cvref_t<E>>;
// What arithmetic takes: a variable or an expression of variables.
template <class E>
concept Scalar = is_real<std::remove_cvref_t<E>> || Node<E>;

template <class E>
struct NumberOf {
  using Type = typename std::remove_cvref_t<E>::Number;
};
template <class T>
struct NumberOf<BasicReal<T>> {
  using Type = T;
};
template <Scalar E>
using Number = typename NumberOf<std::remove_cvref_t<E>>::Type;

template <class T>
constexpr Leaf<T> node_of(const BasicReal<T>& x);
template <Node E>
constexpr const E& node_of(const E& x) {
  return x;
}

template <class F, Scalar A>
[[gnu::always_inline]] inline auto make_unary(const A& a) {
  return Unary<F, std::remove_cvref_t<decltype(node_of(a))>>(node_of(a));
}
template <class F, Scalar A, Scalar B>
[[gnu::always_inline]] inline auto make_binary(const A& a, const B& b) {
  return Binary<F, std::remove_cvref_t<decltype(node_of(a))>, std::remove_cvref_t<decltype(node_of(b))>>(
      node_of(a), node_of(b));
}
template <class F, Scalar A, PassiveFor<Number<A>> C>
[[gnu::always_inline]] inline auto make_binary(const A& a, const C& c) {
  using T = Number<A>;
  return Binary<F, std::remove_cvref_t<decltype(node_of(a))>, Passive<T>>(node_of(a),
                                                                          Passive<T>{static_cast<T>(c)});
}
template <class F, Scalar A, PassiveFor<Number<A>> C>
[[gnu::always_inline]] inline auto make_binary(const C& c, const A& a) {
  using T = Number<A>;
  return Binary<F, Passive<T>, std::remove_cvref_t<decltype(node_of(a))>>(Passive<T>{static_cast<T>(c)},
                                                                          node_of(a));
}

}  // namespace tidemark::scalars
