// Formulas of functions that C++ has and tensors have not, of the form of ops/scalar/scalar_math.h: a value,
// and slopes made of functions that have slopes themselves. Values are those of <cmath> to the bit, also
// where tensors have the function with other rules for NaN (max, min, fmod, round).
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tidemark/ops/scalar/scalar_math.h"

namespace tidemark::scalars::own {

using formula::constant_like, formula::one_like, formula::zero_like, formula::select, formula::equal,
    formula::less, formula::greater, formula::sign, formula::round, formula::digamma, formula::polygamma;
using std::exp, std::pow, std::ldexp, std::trunc;

// Numbers that a formula takes as such: counts, signs, orders.
template <std::floating_point T>
T plain(const T& x) {
  return x;
}
template <std::floating_point T>
int whole(T n) {
  return n > 9999 ? 9999 : n < -9999 ? -9999 : static_cast<int>(n);
}

// ---- one operand

struct Cbrt {  // the slope is infinite at 0
  template <class T>
  static T value(const T& x) {
    return std::cbrt(x);
  }
  template <class T>
  static T slope(const T&, const T& y) {
    const T squared = y * y;
    return one_like(y) / (constant_like(y, 3) * squared);
  }
};
struct Erfc {
  template <class T>
  static T value(const T& x) {
    return std::erfc(x);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    const T scale = constant_like(x, -2 * std::numbers::inv_sqrtpi);
    return scale * exp(-(x * x));
  }
};
struct Tgamma {
  template <class T>
  static T value(const T& x) {
    return std::tgamma(x);
  }
  template <class T>
  static T slope(const T& x, const T& y) {
    return y * digamma(x);
  }
};
struct LogGamma : formula::LogGamma {
  template <class T>
  static T value(const T& x) {
    return std::lgamma(x);
  }
};
// What modf leaves behind the point.
struct Fraction {
  template <class T>
  static T value(const T& x) {
    T integer;
    return std::modf(x, &integer);
  }
  template <class T>
  static T slope(const T& x, const T&) {
    return one_like(x);
  }
};
// Of the normal distribution; slopes of gelu are made of it.
struct NormalDensity {
  template <class T>
  static T value(const T& x) {
    return formula::normal_density(x);
  }
  template <class T>
  static T slope(const T& x, const T& y) {
    return -(x * y);
  }
};

// ---- two operands

// The gradient goes to the operand that was taken; where they are equal each takes half, as tensors do it.
template <class T, class M>
T pull_of_taken(const T& g, const M& taken, const M& ties) {
  const T half = g * constant_like(g, 0.5);
  return select(ties, half, select(taken, g, zero_like(g)));
}
template <class F>
struct Choice {  // F::first(x, y): the value is x
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    return pull_of_taken(g, F::first(x, y), equal(x, y));
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T&) {
    return pull_of_taken(g, !F::first(x, y), equal(x, y));
  }
};
// std::max and std::min: the first operand where none is greater, and beside NaN.
struct Max : Choice<Max> {
  template <class T>
  static bool first(const T& x, const T& y) {
    return !less(x, y);
  }
  template <class T>
  static T value(const T& x, const T& y) {
    return std::max(x, y);
  }
};
struct Min : Choice<Min> {
  template <class T>
  static bool first(const T& x, const T& y) {
    return !less(y, x);
  }
  template <class T>
  static T value(const T& x, const T& y) {
    return std::min(x, y);
  }
};
// fmax and fmin: NaN only where both are.
struct Fmax : Choice<Fmax> {
  template <class T>
  static bool first(const T& x, const T& y) {
    return !less(x, y) && equal(x, x);
  }
  template <class T>
  static T value(const T& x, const T& y) {
    return std::fmax(x, y);
  }
};
struct Fmin : Choice<Fmin> {
  template <class T>
  static bool first(const T& x, const T& y) {
    return !less(y, x) && equal(x, x);
  }
  template <class T>
  static T value(const T& x, const T& y) {
    return std::fmin(x, y);
  }
};
struct Fdim {  // x - y where that is above 0
  template <class T>
  static T value(const T& x, const T& y) {
    return std::fdim(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    return select(greater(x, y), g, zero_like(g));
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T&) {
    return select(greater(x, y), -g, zero_like(g));
  }
};
// part/size, and 0 at the origin.
template <class T>
T share_of(const T& part, const T& size) {
  const bool at_origin = equal(size, zero_like(size));
  return select(at_origin, zero_like(part), part / select(at_origin, one_like(size), size));
}
struct Hypot {
  template <class T>
  static T value(const T& x, const T& y) {
    return std::hypot(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T&, const T& z) {
    return g * share_of(x, z);
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T& y, const T& z) {
    return g * share_of(y, z);
  }
};
// The quotient is a whole number; rounding makes it exact and its derivative zero.
struct Fmod {
  template <class T>
  static T value(const T& x, const T& y) {
    return std::fmod(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&) {
    return g;
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& y, const T& z) {
    return -(g * round((x - z) / y));
  }
};
struct Remainder : Fmod {
  template <class T>
  static T value(const T& x, const T& y) {
    return std::remainder(x, y);
  }
};

// ---- one operand and a plain number, which has no slope

struct Copysign {  // |x| with the sign of y
  template <class T>
  static T value(const T& x, const T& y) {
    return std::copysign(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& y, const T&) {
    const T slope = sign(x);
    return std::signbit(plain(y)) ? -(g * slope) : g * slope;
  }
};
struct Nextafter {
  template <class T>
  static T value(const T& x, const T& y) {
    return std::nextafter(x, y);
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T&) {
    return g;
  }
};
struct Ldexp {  // x·2ⁿ
  template <class T>
  static T value(const T& x, const T& n) {
    return std::ldexp(x, whole(n));
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T& n, const T&) {
    return ldexp(g, whole(n));
  }
};
// x to a constant power. Of the slope c·x^(c-1) most programs want c = 2, 3, 1/2 and -1, and it is c·z/x
// wherever that loses no digits; where x has a derivative of its own, which would, the power is taken anew.
struct PowConstant {
  template <class T>
  static T value(const T& x, const T& c) {
    return pow(x, c);
  }
  template <class T>
  [[gnu::always_inline]] static T pull_x(const T& g, const T& x, const T& c, const T& z) {
    const auto power = plain(c);
    if (power == 2) return g * (c * x);
    if (power == 1) return g;
    if (power == 0) return zero_like(g);
    if (power == 3) return g * (c * (x * x));
    if (power == 0.5) return g * (c / z);
    if (power == -1) return -(g * (z * z));
    return far_pull(g, x, c, z);
  }
  template <class T>
  static T far_pull(const T& g, const T& x, const T& c, const T& z) {
    if constexpr (std::is_same_v<T, double>)
      if (const double size = std::fabs(z); size > 1e-280 && size < 1e280) return g * (c * (z / x));
    return g * (c * pow(x, c - one_like(c)));
  }
};
struct Polygamma {
  template <class T>
  static T value(const T& order, const T& x) {
    return polygamma(whole(order), x);
  }
  template <class T>
  static T pull_y(const T& g, const T& order, const T& x, const T&) {
    return g * polygamma(whole(order) + 1, x);
  }
};

// ---- three operands

struct Fma {
  template <class T>
  static T value(const T& x, const T& y, const T& z) {
    return std::fma(x, y, z);
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T& y, const T&, const T&) {
    return g * y;
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T&, const T&, const T&) {
    return g * x;
  }
  template <class T>
  static T pull_z(const T& g, const T&, const T&, const T&, const T&) {
    return g;
  }
};
struct Hypot3 {
  template <class T>
  static T value(const T& x, const T& y, const T& z) {
    return std::hypot(x, y, z);
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T&, const T&, const T& size) {
    return g * share_of(x, size);
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T& y, const T&, const T& size) {
    return g * share_of(y, size);
  }
  template <class T>
  static T pull_z(const T& g, const T&, const T&, const T& z, const T& size) {
    return g * share_of(z, size);
  }
};
struct Lerp {  // x + z·(y - x)
  template <class T>
  static T value(const T& x, const T& y, const T& z) {
    return std::lerp(x, y, z);
  }
  template <class T>
  static T pull_x(const T& g, const T&, const T&, const T& z, const T&) {
    return g * (one_like(z) - z);
  }
  template <class T>
  static T pull_y(const T& g, const T&, const T&, const T& z, const T&) {
    return g * z;
  }
  template <class T>
  static T pull_z(const T& g, const T& x, const T& y, const T&, const T&) {
    return g * (y - x);
  }
};
// std::clamp; as for tensors, the operand that is just at a bound has slope 1 and the bound none.
struct Clamp {
  template <class T>
  static T value(const T& x, const T& low, const T& high) {
    return x < low ? low : high < x ? high : x;
  }
  template <class T>
  static T pull_x(const T& g, const T& x, const T& low, const T& high, const T&) {
    return select(less(x, low) || less(high, x), zero_like(g), g);
  }
  template <class T>
  static T pull_y(const T& g, const T& x, const T& low, const T&, const T&) {
    return select(less(x, low), g, zero_like(g));
  }
  template <class T>
  static T pull_z(const T& g, const T& x, const T& low, const T& high, const T&) {
    return select(!less(x, low) && less(high, x), g, zero_like(g));
  }
};

}  // namespace tidemark::scalars::own
