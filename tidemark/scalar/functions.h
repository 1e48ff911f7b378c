// All of <cmath> for Reals, their expressions and Duals, and the functions that tensors have beside it.
// Values are those of double to the bit: a program's numbers do not change when double becomes Real. Slopes
// are those of the formulas. What is piecewise constant (floor, round, isnan, …) returns a plain number.
//
// Existing code finds them by their arguments (sin(x)) and as std::sin(x) (std_functions.h). Found by
// arguments they give way: in a program with a template of its own, `T max(T, T)` or `T sigmoid(T)`, that
// one is called, as it was for double. So they have a parameter pack, with which C++ prefers any other
// template. What tensors have and C++ has not is found so for variables and not for expressions, where even
// a function `Real sigmoid(Real)` of the program's own would lose; td::sigmoid takes both.
#pragma once
#include "tidemark/scalar/arguments.h"

namespace tidemark::scalars {
namespace functions {

#define TM_UNARY(name, F, ...)                          \
  template <Argument A>                                 \
  [[gnu::always_inline]] inline auto name(const A& x) { \
    return apply<F>(x);                                 \
  }
#define TM_BINARY(name, F, ...) \
  template <class A, class B>   \
  requires Arguments<A, B>      \
  [[gnu::always_inline]] inline auto name(const A& x, const B& y) { return apply<F>(x, y); }
#define TM_OWN(name)
#define TM_PLAIN(name)                 \
  template <Argument A>                \
  inline auto name(const A& x) {       \
    return std::name(plain_number(x)); \
  }
#define TM_PLAIN_PAIR(name)   \
  template <class A, class B> \
  requires Arguments<A, B>    \
  inline bool name(const A& x, const B& y) { return std::name(plain_number(x), plain_number(y)); }
#define TM_TENSOR_UNARY TM_UNARY
#define TM_TENSOR_BINARY TM_BINARY
#include "tidemark/scalar/functions.def"

// ---- powers

template <Argument A, class B>
requires Arguments<A, B>
[[gnu::always_inline]] inline auto pow(const A& x, const B& y) {
  if constexpr (std::is_arithmetic_v<B> || (Scalar<A> && !Scalar<B>))
    return apply<own::PowConstant>(x, y);
  else
    return apply<formula::Pow>(x, y);
}
template <class A, Argument B>
requires(Arguments<A, B> && !Argument<A>) [[gnu::always_inline]] inline auto pow(const A& x, const B& y) {
  return apply<formula::Pow>(x, y);
}

// ---- the greater and the smaller

template <class T>
constexpr BasicReal<T> as_real(const BasicReal<T>& x, const T*) {
  return x;
}
template <class T, class C>
constexpr BasicReal<T> as_real(const C& c, const T*) {
  return static_cast<T>(c);
}
template <class A>
inline constexpr bool is_variable = !Node<A>;

// Of variables it is one of them, and takes no statement; but where they are equal, both count.
template <class F, class A, class B>
[[gnu::always_inline]] inline auto choose(const A& x, const B& y) {
  using K = Kind<A, B>;
  if constexpr (!Carrier<K> && is_variable<A> && is_variable<B>) {
    const auto choose_variable = []<class T>(const BasicReal<T>& a, const BasicReal<T>& b) {
      if (a.value() == b.value()) {
        if (a.id() != b.id()) return BasicReal<T>(apply<F>(a, b));
        return BasicReal<T>(evaluate<F>(a.value(), b.value()), a.id());
      }
      return F::first(a.value(), b.value()) ? a : b;
    };
    using T = typename KindNumber<K>::Type;
    return choose_variable(as_real<T>(x, nullptr), as_real<T>(y, nullptr));
  } else {
    return apply<F>(x, y);
  }
}

template <class A, class B>
requires Arguments<A, B>
[[gnu::always_inline]] inline auto max(const A& x, const B& y) { return choose<own::Max>(x, y); }
template <class A, class B>
requires Arguments<A, B>
[[gnu::always_inline]] inline auto min(const A& x, const B& y) { return choose<own::Min>(x, y); }
template <class A, class B>
requires Arguments<A, B>
[[gnu::always_inline]] inline auto fmax(const A& x, const B& y) { return choose<own::Fmax>(x, y); }
template <class A, class B>
requires Arguments<A, B>
[[gnu::always_inline]] inline auto fmin(const A& x, const B& y) { return choose<own::Fmin>(x, y); }
// Operands of one type: std::max takes these as well, and gives way to what has a constraint more.
template <class A>
requires Argument<A>
[[gnu::always_inline]] inline auto max(const A& x, const A& y) { return choose<own::Max>(x, y); }
template <class A>
requires Argument<A>
[[gnu::always_inline]] inline auto min(const A& x, const A& y) { return choose<own::Min>(x, y); }

template <class A, class B, class C>
[[gnu::always_inline]] inline auto clamp_all(const A& x, const B& low, const C& high) {
  using K = Kind<A, B, C>;
  if constexpr (!Carrier<K> && is_variable<A> && is_variable<B> && is_variable<C>) {
    using T = typename KindNumber<K>::Type;
    const BasicReal<T> a = as_real<T>(x, nullptr), b = as_real<T>(low, nullptr),
                       c = as_real<T>(high, nullptr);
    return a < b ? b : c < a ? c : a;
  } else {
    return apply<own::Clamp>(x, low, high);
  }
}
template <class A, class B, class C>
requires Arguments<A, B, C>
[[gnu::always_inline]] inline auto clamp(const A& x, const B& low, const C& high) {
  return clamp_all(x, low, high);
}
template <class A>
requires Argument<A>
[[gnu::always_inline]] inline auto clamp(const A& x, const A& low, const A& high) {
  return clamp_all(x, low, high);
}

// ---- three operands

template <class A, class B, class C>
requires Arguments<A, B, C>
[[gnu::always_inline]] inline auto fma(const A& x, const B& y, const C& z) {
  return apply<own::Fma>(x, y, z);
}
template <class A, class B, class C>
requires Arguments<A, B, C>
[[gnu::always_inline]] inline auto hypot(const A& x, const B& y, const C& z) {
  return apply<own::Hypot3>(x, y, z);
}
template <class A, class B, class C>
requires Arguments<A, B, C>
[[gnu::always_inline]] inline auto lerp(const A& x, const B& y, const C& z) {
  return apply<own::Lerp>(x, y, z);
}

// ---- the digits of a number; operands that only say how have no slope

template <class A, class B>
requires Arguments<A, B>
inline auto copysign(const A& x, const B& sign) {
  if constexpr (Argument<A>)
    return apply<own::Copysign>(x, plain_number(sign));
  else
    return std::copysign(x, plain_number(sign));
}
template <class A, class B>
requires Arguments<A, B>
inline auto nextafter(const A& x, const B& towards) {
  if constexpr (Argument<A>)
    return apply<own::Nextafter>(x, plain_number(towards));
  else
    return std::nextafter(x, plain_number(towards));
}
template <Argument A>
inline auto nexttoward(const A& x, long double towards) {
  const auto from = plain_number(x);
  const auto to = std::nexttoward(from, towards);
  return apply<own::Nextafter>(x, to);
}
template <Argument A>
inline auto ldexp(const A& x, int n) {
  return apply<own::Ldexp>(x, n);
}
template <Argument A>
inline auto scalbn(const A& x, int n) {
  return apply<own::Ldexp>(x, n);
}
template <Argument A>
inline auto scalbln(const A& x, long n) {
  return apply<own::Ldexp>(x, n);
}
template <Argument A>
inline auto frexp(const A& x, int* exponent) {
  std::frexp(plain_number(x), exponent);
  if (!std::isfinite(plain_number(x))) *exponent = 0;
  return apply<own::Ldexp>(x, -*exponent);
}
template <Argument A, class I>
inline auto modf(const A& x, I* integer) {
  auto whole = plain_number(x);
  std::modf(whole, &whole);
  *integer = whole;
  return apply<own::Fraction>(x);
}
template <class A, class B>
requires Arguments<A, B>
inline auto remquo(const A& x, const B& y, int* quotient) {
  std::remquo(plain_number(x), plain_number(y), quotient);
  return apply<own::Remainder>(x, y);
}

template <Argument A>
inline auto sign(const A& x) {
  return formula::sign(plain_number(x));
}
template <Argument A>
inline auto polygamma(int order, const A& x) {
  return apply<own::Polygamma>(order, x);
}

}  // namespace functions

// ---- found by their arguments

#define TM_FOUND(name)                                                                                     \
  template <class A, class... B>                                                                           \
  requires Arguments<A, B...>                                                                              \
  [[gnu::always_inline]] inline auto name(const A& a, const B&... b)->decltype(functions::name(a, b...)) { \
    return functions::name(a, b...);                                                                       \
  }
#define TM_FOUND_FOR_VARIABLES(name)                                                                   \
  template <class A, class... B>                                                                       \
  requires(Arguments<A, B...> && (... && !Node<B>)&&!Node<A>) [[gnu::always_inline]] inline auto name( \
      const A& a, const B&... b)                                                                       \
      ->decltype(functions::name(a, b...)) {                                                           \
    return functions::name(a, b...);                                                                   \
  }
#define TM_UNARY(name, ...) TM_FOUND(name)
#define TM_BINARY(name, ...) TM_FOUND(name)
#define TM_OWN(name) TM_FOUND(name)
#define TM_PLAIN(name) TM_FOUND(name)
#define TM_PLAIN_PAIR(name) TM_FOUND(name)
#define TM_TENSOR_UNARY(name, ...) TM_FOUND_FOR_VARIABLES(name)
#define TM_TENSOR_BINARY(name, ...) TM_FOUND_FOR_VARIABLES(name)
#include "tidemark/scalar/functions.def"
TM_FOUND_FOR_VARIABLES(sign)
#undef TM_FOUND
#undef TM_FOUND_FOR_VARIABLES

using functions::frexp, functions::modf, functions::remquo, functions::polygamma;

}  // namespace tidemark::scalars

namespace tidemark {
#define TM_UNARY(name, ...)
#define TM_BINARY(name, ...)
#define TM_OWN(name)
#define TM_PLAIN(name)
#define TM_PLAIN_PAIR(name)
#define TM_TENSOR_UNARY(name, ...) using scalars::functions::name;
#define TM_TENSOR_BINARY(name, ...) using scalars::functions::name;
#include "tidemark/scalar/functions.def"
using scalars::functions::polygamma, scalars::functions::sign;
}  // namespace tidemark
