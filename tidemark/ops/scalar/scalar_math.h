// The scalar functions, each one formula: `value(x)` and `slope(x, y)` with y = value(x). The templates serve
// double, SIMD lanes, the scalar AD type and graph values (Var) alike: what they call is found by the
// argument's type, so the graph adjoint of tanh is the very line `1 - y * y`. Slopes are made of functions
// that have slopes themselves, so every order exists. A formula without a slope is piecewise constant: its
// derivative is zero.
//
// Where the slope can be read from y it is: y is often kept anyway by the next op, and x may then be
// overwritten. `pull(g, x, y)`, where given, is g·slope without forming the slope (masks stay masks, and
// 0·inf cannot appear). Binary formulas give `pull_x` and `pull_y` instead of slopes; the slope is the pull
// of 1.
#pragma once
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

#include "tidemark/ops/scalar/erf_inverse.h"
#include "tidemark/ops/scalar/gamma_functions.h"

namespace tidemark::formula {

using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil,
    std::cos, std::cosh, std::erf, std::exp, std::exp2, std::expm1, std::floor, std::log, std::log10,
    std::log1p, std::log2, std::pow, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;

// The vocabulary of the formulas for plain floating-point numbers, named as for graph values.
template <std::floating_point T>
T constant_like(T, double c) {
  return static_cast<T>(c);
}
template <class T>
T select(bool condition, T on_true, T on_false) {
  return condition ? on_true : on_false;
}
template <std::floating_point T>
bool equal(T x, T y) {
  return x == y;
}
template <std::floating_point T>
bool not_equal(T x, T y) {
  return x != y;
}
template <std::floating_point T>
bool less(T x, T y) {
  return x < y;
}
template <std::floating_point T>
bool less_equal(T x, T y) {
  return x <= y;
}
template <std::floating_point T>
bool greater(T x, T y) {
  return x > y;
}
template <std::floating_point T>
bool greater_equal(T x, T y) {
  return x >= y;
}
inline bool logical_not(bool x) { return !x; }
inline bool logical_and(bool x, bool y) { return x && y; }
inline bool logical_or(bool x, bool y) { return x || y; }
inline bool logical_xor(bool x, bool y) { return x != y; }
// NaN in either operand gives NaN.
template <std::floating_point T>
T maximum(T x, T y) {
  return x != x || x > y ? x : y;
}
template <std::floating_point T>
T minimum(T x, T y) {
  return x != x || x < y ? x : y;
}
template <std::floating_point T>
T round(T x) {
  return std::nearbyint(x);
}
template <std::floating_point T>
T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x;
}
// Exact, with the sign of the divisor, as in Python; x mod 0 is NaN.
template <std::floating_point T>
T mod(T x, T y) {
  const T r = std::fmod(x, y);
  return r != 0 ? ((r < 0) != (y < 0) ? r + y : r) : std::copysign(T(0), y);
}

template <std::floating_point T>
T erfinv(T x) {
  return static_cast<T>(erf_inverse(static_cast<double>(x)));
}
template <std::floating_point T>
T lgamma(T x) {
  return static_cast<T>(log_gamma(static_cast<double>(x)));
}
template <std::floating_point T>
T digamma(T x) {
  return static_cast<T>(digamma_of(static_cast<double>(x)));
}
template <std::floating_point T>
T polygamma(int order, T x) {
  return static_cast<T>(polygamma_of(order, static_cast<double>(x)));
}
template <std::floating_point T>
T gelu_slope(T x);
// The vector forms know the range of their argument: at most 0, and in [0, 1].
template <std::floating_point T>
T exp_of_negative(T x) {
  return std::exp(x);
}
template <std::floating_point T>
T log1p_of_unit(T x) {
  return std::log1p(x);
}
// exp of -|x| only, so that nothing overflows and small results keep their digits.
template <std::floating_point T>
T sigmoid(T x) {
  const T e = std::exp(-std::abs(x));
  return (x >= 0 ? 1 : e) / (e + 1);
}
// Φ(x), the normal distribution.
template <std::floating_point T>
T normal_distribution(T x) {
  return T(0.5) * std::erfc(x * static_cast<T>(-std::numbers::sqrt2 / 2));
}

// x·Φ(x), which is 0 at -infinity.
template <std::floating_point T>
T gelu(T x) {
  return (x < -40 ? T(-40) : x) * normal_distribution(x);
}
// φ(x) = Φ'(x).
template <std::floating_point T>
T normal_density(T x) {
  return static_cast<T>(std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2) * std::exp(T(-0.5) * x * x);
}

#include "tidemark/ops/scalar/scalar_math.inc"

template <std::floating_point T>
T gelu_slope(T x) {
  return GeluSlope::value(x);
}

// ---- what a formula has

template <class F>
concept HasSlope = requires(double a) {
  F::slope(a, a);
};
template <class F>
concept HasPull = requires(double a) {
  F::pull(a, a, a);
};
template <class F>
concept HasPulls = requires(double a) {
  F::pull_x(a, a, a, a);
};
template <class F>
concept HasKinkAtZero = requires {
  F::kink_at_zero;
};
// Its rule divides by what it reads or compares it for equality: it wants no lossy copy.
template <class F>
concept HasExactRule = requires {
  F::exact_rule;
};
template <class F>
concept YieldsBool = requires {
  F::yields_bool;
};

// g·slope, by the formula's own pull where it has one.
template <class F, class T>
T pull(const T& g, const T& x, const T& y) {
  if constexpr (HasPull<F>) {
    return F::pull(g, x, y);
  } else {
    return g * F::slope(x, y);
  }
}

}  // namespace tidemark::formula
