// The scalar functions, each one formula: `value(x)` and `slope(x, y)` with y = value(x). The templates serve double,
// SIMD lanes, the scalar AD type and graph values (Var) alike: what they call is found by the argument's type, so the
// graph adjoint of tanh is the very line `1 - y * y`. Slopes are made of functions that have slopes themselves, so
// every order exists. A formula without a slope is piecewise constant: its derivative is zero.
//
// Where the slope can be read from y it is: y is often kept anyway by the next op, and x may then be overwritten.
// `pull(g, x, y)`, where given, is g·slope without forming the slope (masks stay masks, and 0·inf cannot appear).
// Binary formulas give `pull_x` and `pull_y` instead of slopes; the slope is the pull of 1.
#pragma once
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

namespace tidemark::formula {

using std::ceil, std::cos, std::erf, std::exp, std::expm1, std::floor, std::log, std::log1p, std::pow,
    std::sin, std::sqrt, std::tan, std::tanh, std::abs;

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
T sigmoid(T x);

template <class T>
T zero_like(const T& x) {
  return constant_like(x, 0);
}
template <class T>
T one_like(const T& x) {
  return constant_like(x, 1);
}

// ---- one operand: sign and size

struct Neg {
  template <class T>
  static T value(const T& x) {
    return -x;
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return constant_like(x, -1);
  }
  template <class T>
  static T pull(const T& g, const T&, const T&) {
    return -g;
  }
};
struct Abs {
  static constexpr bool kink_at_zero = true;
  template <class T>
  static T value(const T& x) {
    return abs(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return sign(x);
  }  // 0 at 0
};
struct Sign {  // 0 at ±0, NaN at NaN
  template <class T>
  static T value(const T& x) {
    return sign(x);
  }
};
struct Floor {
  template <class T>
  static T value(const T& x) {
    return floor(x);
  }
};
struct Ceil {
  template <class T>
  static T value(const T& x) {
    return ceil(x);
  }
};
struct Round {
  template <class T>
  static T value(const T& x) {
    return round(x);
  }
};
struct Square {
  template <class T>
  static T value(const T& x) {
    return x * x;
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return x + x;
  }
};
struct Reciprocal {
  template <class T>
  static T value(const T& x) {
    return one_like(x) / x;
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return -(y * y);
  }
};
struct Sqrt {
  template <class T>
  static T value(const T& x) {
    return sqrt(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return constant_like(y, 0.5) / y;
  }  // inf at 0
};
struct Rsqrt {
  template <class T>
  static T value(const T& x) {
    return one_like(x) / sqrt(x);
  }
  template <class T>
  static T slope(const T& x, const T& y) {
    return constant_like(y, -0.5) * y / x;
  }
};
struct Relu {  // NaN stays; slope 0 at 0. y > 0 exactly where x > 0.
  static constexpr bool kink_at_zero = true;
  template <class T>
  static T value(const T& x) {
    return maximum(x, zero_like(x));
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return select(greater(y, zero_like(y)), one_like(y), zero_like(y));
  }
  template <class T>
  static T pull(const T& g, const T&, const T& y) {
    return select(greater(y, zero_like(y)), g, zero_like(g));
  }
};
struct LogicalNot {
  template <class M>
  static M value(const M& x) {
    return logical_not(x);
  }
};

// ---- one operand: transcendental

struct Exp {
  template <class T>
  static T value(const T& x) {
    return exp(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return y;
  }
};
struct Expm1 {
  template <class T>
  static T value(const T& x) {
    return expm1(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return y + one_like(y);
  }
};
struct Log {
  template <class T>
  static T value(const T& x) {
    return log(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return one_like(x) / x;
  }
  template <class T>
  static T pull(const T& g, const T& x, const T&) {
    return g / x;
  }
};
struct Log1p {
  template <class T>
  static T value(const T& x) {
    return log1p(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return one_like(x) / (x + one_like(x));
  }
  template <class T>
  static T pull(const T& g, const T& x, const T&) {
    return g / (x + one_like(x));
  }
};
struct Sin {
  template <class T>
  static T value(const T& x) {
    return sin(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return cos(x);
  }
};
struct Cos {
  template <class T>
  static T value(const T& x) {
    return cos(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return -sin(x);
  }
};
struct Tan {
  template <class T>
  static T value(const T& x) {
    return tan(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return y * y + one_like(y);
  }
};
struct Tanh {
  template <class T>
  static T value(const T& x) {
    return tanh(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return one_like(y) - y * y;
  }
};
struct Sigmoid {  // exp of -|x| only, so that nothing overflows and small results keep their digits
  template <class T>
  static T value(const T& x) {
    const T e = exp(-abs(x));
    return select(greater_equal(x, zero_like(x)), one_like(x), e) / (e + one_like(x));
  }
  template <class T>
  static T slope(const T&, const T& y) {
    return y * (one_like(y) - y);
  }
};
struct Erf {
  template <class T>
  static T value(const T& x) {
    return erf(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return constant_like(x, 2 * std::numbers::inv_sqrtpi) * exp(-(x * x));
  }
};
struct Silu {
  template <class T>
  static T value(const T& x) {
    return x * Sigmoid::value(x);
  }
  template <class T>
  static T slope(const T& x, const T& y) {
    const T s = sigmoid(x);
    return s + y * (one_like(x) - s);
  }
};
struct Gelu {  // x·Φ(x), Φ the normal distribution
  template <class T>
  static T distribution(const T& x) {
    return constant_like(x, 0.5) * (erf(x * constant_like(x, std::numbers::sqrt2 / 2)) + one_like(x));
  }
  template <class T>
  static T value(const T& x) {
    return x * distribution(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    const T density = constant_like(x, std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2) *
                      exp(constant_like(x, -0.5) * (x * x));
    return distribution(x) + x * density;
  }
};
struct Softplus {  // log(1 + exp x)
  template <class T>
  static T value(const T& x) {
    return maximum(x, zero_like(x)) + log1p(exp(-abs(x)));
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return sigmoid(x);
  }
};
template <std::floating_point T>
T sigmoid(T x) {
  return Sigmoid::value(x);
}

// ---- two operands

struct Add {
  template <class T>
  static T value(const T& x, const T& y) {
    return x + y;
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&) {
    return g;
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T&, const T&) {
    return g;
  }
};
struct Sub {
  template <class T>
  static T value(const T& x, const T& y) {
    return x - y;
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&) {
    return g;
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T&, const T&) {
    return -g;
  }
};
struct Mul {
  template <class T>
  static T value(const T& x, const T& y) {
    return x * y;
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T& y, const T&) {
    return g * y;
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T&, const T&) {
    return g * x;
  }
};
struct Div {
  template <class T>
  static T value(const T& x, const T& y) {
    return x / y;
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T& y, const T&) {
    return g / y;
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T& y, const T& z) {
    return -(g * (z / y));
  }
};
struct Pow {
  template <class T>
  static T value(const T& x, const T& y) {
    return pow(x, y);
  }
  // y·x^(y-1). Where y = 0 the exponent is replaced, so that x = 0 gives 0 and not 0·inf.
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    const T exponent = select(equal(y, zero_like(y)), one_like(y), y - one_like(y));
    return g * (y * pow(x, exponent));
  }
  // z·log x, and 0 where x = 0; NaN where x < 0, where no derivative exists.
  template <class T>
  static T pull_y(const T& g, const T& x, const T&, const T& z) {
    return g * (z * log(select(equal(x, zero_like(x)), one_like(x), x)));
  }
};
// Where the operands are equal each takes half of the gradient, so that max(x, x) has slope 1 and the rule does not
// depend on the order of the operands.
template <class T, class M>
T pull_of_winner(const T& g, const M& wins, const M& ties) {
  return select(ties, g * constant_like(g, 0.5), select(wins, g, zero_like(g)));
}
struct Maximum {
  template <class T>
  static T value(const T& x, const T& y) {
    return maximum(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    return pull_of_winner(g, greater(x, y), equal(x, y));
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T&) {
    return pull_of_winner(g, less(x, y), equal(x, y));
  }
};
struct Minimum {
  template <class T>
  static T value(const T& x, const T& y) {
    return minimum(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    return pull_of_winner(g, less(x, y), equal(x, y));
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T&) {
    return pull_of_winner(g, greater(x, y), equal(x, y));
  }
};
struct Mod {
  template <class T>
  static T value(const T& x, const T& y) {
    return mod(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&) {
    return g;
  }
  // The quotient is a whole number; rounding makes it exact and its derivative zero.
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T& z) {
    return -(g * round((x - z) / y));
  }
};

// ---- two operands, a truth value as the result

struct Predicate {
  static constexpr bool yields_bool = true;
};
struct Equal : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return equal(x, y);
  }
};
struct NotEqual : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return not_equal(x, y);
  }
};
struct Less : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return less(x, y);
  }
};
struct LessEqual : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return less_equal(x, y);
  }
};
struct Greater : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return greater(x, y);
  }
};
struct GreaterEqual : Predicate {
  template <class T>
  static auto value(const T& x, const T& y) {
    return greater_equal(x, y);
  }
};
struct LogicalAnd : Predicate {
  template <class M>
  static M value(const M& x, const M& y) {
    return logical_and(x, y);
  }
};
struct LogicalOr : Predicate {
  template <class M>
  static M value(const M& x, const M& y) {
    return logical_or(x, y);
  }
};
struct LogicalXor : Predicate {
  template <class M>
  static M value(const M& x, const M& y) {
    return logical_xor(x, y);
  }
};

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
