// The special functions of <cmath> (C++17) for Reals, their expressions and Duals, where the standard library
// has them: legendre(2, x) and std::legendre(2, x). Values are those of double to the bit. Orders and degrees
// are plain numbers: there is no formula for a derivative by the order of a Bessel function.
#pragma once
#include "tidemark/scalar/arguments.h"
#include "tidemark/scalar/special_formulas.h"

#ifdef __cpp_lib_math_special_functions

namespace tidemark::scalars {
namespace functions {

template <class N>
concept PlainOrder = std::is_arithmetic_v<N>;

template <class N, class A>
A no_slope_by_order(const A& x) {
  static_assert(PlainOrder<N>,
                "the derivative by the order of a Bessel function has no formula: write value(order) where "
                "the order is meant as a constant");
  return x;
}

#define TM_OF_DEGREE(name, F)                \
  template <Argument A>                      \
  inline auto name(unsigned n, const A& x) { \
    return apply<own::F>(n, x);              \
  }
#define TM_OF_DEGREE_AND_ORDER(name, F)                  \
  template <Argument A>                                  \
  inline auto name(unsigned n, unsigned m, const A& x) { \
    return apply<own::F>(n, m, x);                       \
  }
#define TM_OF_REAL_ORDER(name, F)                \
  template <PlainOrder N, Argument A>            \
  inline auto name(const N& order, const A& x) { \
    return apply<own::F>(order, x);              \
  }                                              \
  template <Argument N, class A>                 \
  requires Arguments<N, A>                       \
  inline auto name(const N&, const A& x) { return no_slope_by_order<N>(x); }
#define TM_OF_NUMBERS(name, F) \
  template <class... A>        \
  requires Arguments<A...>     \
  inline auto name(const A&... x) { return apply<own::F>(x...); }
#include "tidemark/scalar/special_functions.def"

}  // namespace functions

// Found by their arguments, as those of functions.h: they give way to a program's own.
#define TM_FOUND(name, F)                                                           \
  template <class A, class... B>                                                    \
  requires Arguments<A, B...>                                                       \
  inline auto name(const A& a, const B&... b)->decltype(functions::name(a, b...)) { \
    return functions::name(a, b...);                                                \
  }
#define TM_OF_DEGREE TM_FOUND
#define TM_OF_DEGREE_AND_ORDER TM_FOUND
#define TM_OF_REAL_ORDER TM_FOUND
#define TM_OF_NUMBERS TM_FOUND
#include "tidemark/scalar/special_functions.def"
#undef TM_FOUND

}  // namespace tidemark::scalars

namespace std {  // NOLINT(cert-dcl58-cpp): as in std_functions.h

#define TM_NAMED(name, F) using tidemark::scalars::functions::name;
#define TM_OF_DEGREE TM_NAMED
#define TM_OF_DEGREE_AND_ORDER TM_NAMED
#define TM_OF_REAL_ORDER TM_NAMED
#define TM_OF_NUMBERS TM_NAMED
#include "tidemark/scalar/special_functions.def"
#undef TM_NAMED

}  // namespace std

#endif
