// What functions of scalars take: Reals and expressions, or carriers (Duals), with plain numbers among them;
// and how a formula is applied to them.
#pragma once
#include "tidemark/scalar/dual.h"
#include "tidemark/scalar/formulas.h"
#include "tidemark/scalar/real.h"

namespace tidemark::scalars {

template <class T>
struct ScalarKind {};
struct NoKind {};

// Of the first operand that is no plain number.
template <class... A>
struct KindOf {
  using Type = NoKind;
};
template <class A, class... Rest>
struct KindOf<A, Rest...> : KindOf<Rest...> {};
template <Scalar A, class... Rest>
struct KindOf<A, Rest...> {
  using Type = ScalarKind<Number<A>>;
};
template <Carrier A, class... Rest>
requires(!std::is_same_v<typename KindOf<Rest...>::Type, ScalarKind<A>>) struct KindOf<
    A, Rest...> {  // beside a Real whose number it is, it is a plain number
  using Type = A;
};
template <class... A>
using Kind = typename KindOf<A...>::Type;

template <class K>
struct KindNumber;
template <class T>
struct KindNumber<ScalarKind<T>> {
  using Type = T;
};

template <class K, class A>
inline constexpr bool fits = false;
template <class T, class A>
inline constexpr bool fits<ScalarKind<T>, A> = PassiveFor<A, T>;
template <class T, Scalar A>
inline constexpr bool fits<ScalarKind<T>, A> = std::is_same_v<Number<A>, T>;
template <Carrier D, class A>
inline constexpr bool fits<D, A> = PassiveFor<A, D>;

template <class... A>
concept Arguments = !std::is_same_v<Kind<A...>, NoKind> && (... && fits<Kind<A...>, A>);
template <class A>
concept Argument = Arguments<A>;

// An operand as a node.
template <class T, class A>
[[gnu::always_inline]] inline auto operand(const A& a) {
  if constexpr (Scalar<A>)
    return node_of(a);
  else
    return Passive<T>{static_cast<T>(a)};
}

template <class F, class... Nodes>
struct ExpressionOf;
template <class F, class A>
struct ExpressionOf<F, A> {
  using Type = Unary<F, A>;
};
template <class F, class A, class B>
struct ExpressionOf<F, A, B> {
  using Type = Binary<F, A, B>;
};
template <class F, class A, class B, class C>
struct ExpressionOf<F, A, B, C> {
  using Type = Ternary<F, A, B, C>;
};

template <class F, class T, class... A>
[[gnu::always_inline]] inline auto apply_to(ScalarKind<T>, const A&... a) {
  return typename ExpressionOf<F, decltype(operand<T>(a))...>::Type(operand<T>(a)...);
}
template <class F, Carrier D, class... A>
[[gnu::always_inline]] inline D apply_to(D, const A&... a) {
  return evaluate<F>(D(a)...);
}
template <class F, class... A>
requires Arguments<A...>
[[gnu::always_inline]] inline auto apply(const A&... a) { return apply_to<F>(Kind<A...>{}, a...); }

// The number alone, of whatever kind.
template <class A>
constexpr auto plain_number(const A& x) {
  if constexpr (std::is_arithmetic_v<A>)
    return x;
  else
    return plain_number(value(x));
}

// ---- the words in which slopes are written, for carriers; those that C++ or tensors have are in functions.h

template <Carrier D>
D constant_like(const D&, double c) {
  return c;
}
template <Carrier D>
double plain(const D& x) {
  return x.value();
}
template <Carrier D>
int whole(const D& x) {
  return own::whole(x.value());
}
template <Carrier D>
bool equal(const D& x, const D& y) {
  return x == y;
}
template <Carrier D>
bool less(const D& x, const D& y) {
  return x < y;
}
template <Carrier D>
bool greater(const D& x, const D& y) {
  return x > y;
}

}  // namespace tidemark::scalars
