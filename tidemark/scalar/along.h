// A number with its derivative in one direction, of any kind of number: for slopes that have no formula of
// their own and are the derivative of how the value can be computed. (Dual is of double alone.)
#pragma once
#include <cmath>

#include "tidemark/scalar/formulas.h"

namespace tidemark::scalars::own {

template <class T>
struct Along {
  T value, slope;

  friend Along operator+(const Along& x, const Along& y) { return {x.value + y.value, x.slope + y.slope}; }
  friend Along operator-(const Along& x, const Along& y) { return {x.value - y.value, x.slope - y.slope}; }
  friend Along operator*(const Along& x, const Along& y) {
    return {x.value * y.value, x.slope * y.value + x.value * y.slope};
  }
  friend Along operator/(const Along& x, const Along& y) {
    const T quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }
};

template <class T>
Along<T> steady(const T& like, double number) {
  return {constant_like(like, number), zero_like(like)};
}
// The root of 0 has a slope of 0 where 0 does not vary.
template <class T>
Along<T> root(const Along<T>& x) {
  using std::sqrt;
  const T y = sqrt(x.value);
  if (equal(x.slope, zero_like(y)) && equal(y, zero_like(y))) return {y, x.slope};
  return {y, x.slope / (constant_like(y, 2) * y)};
}
template <class T>
Along<T> exponential(const Along<T>& x) {
  const T y = exp(x.value);
  return {y, y * x.slope};
}

}  // namespace tidemark::scalars::own
